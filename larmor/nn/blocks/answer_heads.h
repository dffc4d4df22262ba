// Questions of several kinds, each answered by a head of its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <torch/nn/module.h>

#include "larmor/nn/blocks/block.h"
#include "larmor/nn/blocks/two_layers.h"

namespace larmor::nn {

/// What a head is called, the width of its hidden layer, and among how many answers it chooses.
struct AnswerHead {
  std::string name;
  int64_t hidden, classes;
};

/// Two layers a head, `NAME_head.0.…` and `NAME_head.3.…`. Every head sees every question: which of them is
/// asked is the loss's matter (losses/routed_loss.h), so that a batch may lack any of them.
class AnswerHeads final : public torch::nn::Module {
 public:
  /// Weights from libtorch's default generator; on c10::kMeta nothing is drawn or stored. `path` is where the
  /// heads stand in their owner (Dropout). Throws Error (usage): no heads, sizes below 1, a name twice.
  AnswerHeads(int64_t width, const std::vector<AnswerHead>& heads, double drop,
              c10::Device device = c10::kCPU, const std::string& path = "answer");
  /// features [N, width] to the logits [N, classes] of each head, in their order.
  std::vector<at::Tensor> forward(const at::Tensor& features) const;

 private:
  BlockList<TwoLayers> heads_;
};

}  // namespace larmor::nn
