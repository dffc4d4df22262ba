// A network that gradients pass through without staying in it.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

namespace torch::nn {
class Module;
}

namespace larmor::nn {

/// While it lives, gradients pass through `module` without reaching its parameters: how the generator's
/// adversarial term is kept out of the discriminator.
class Frozen {
 public:
  explicit Frozen(torch::nn::Module& module);
  ~Frozen();
  Frozen(const Frozen&) = delete;
  Frozen& operator=(const Frozen&) = delete;

 private:
  explicit Frozen(std::vector<at::Tensor> learning);

  std::vector<at::Tensor> thawed_;  // parameters that required a gradient before
};

}  // namespace larmor::nn
