// A network's buffers (running statistics) as they were, for whoever runs a forward that must not count.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

namespace torch::nn {
class Module;
}

namespace larmor {

class KeptBuffers {
 public:
  /// Copies the buffers of `networks`, which share storage with what is restored.
  explicit KeptBuffers(const std::vector<const torch::nn::Module*>& networks);
  void restore() const;

 private:
  std::vector<at::Tensor> buffers_, kept_;
};

}  // namespace larmor
