#include "larmor/train/step/kept_buffers.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/clone.h>
#include <torch/nn/module.h>

namespace larmor {

KeptBuffers::KeptBuffers(const std::vector<const torch::nn::Module*>& networks) {
  const at::NoGradGuard no_gradients;
  for (const auto* const network : networks) {
    for (const at::Tensor& buffer : network->buffers()) {
      buffers_.push_back(buffer);
      kept_.push_back(buffer.clone());
    }
  }
}

void KeptBuffers::restore() const {
  const at::NoGradGuard no_gradients;
  for (std::size_t i = 0; i < buffers_.size(); ++i) at::Tensor(buffers_[i]).copy_(kept_[i]);
}

}  // namespace larmor
