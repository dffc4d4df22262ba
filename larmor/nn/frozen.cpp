#include "larmor/nn/frozen.h"

#include <utility>

#include <torch/nn/module.h>

namespace larmor::nn {

Frozen::Frozen(torch::nn::Module& module) {
  for (at::Tensor& parameter : module.parameters()) {
    if (!parameter.requires_grad()) continue;
    parameter.set_requires_grad(false);
    thawed_.push_back(std::move(parameter));
  }
}

Frozen::~Frozen() {
  for (at::Tensor& parameter : thawed_) parameter.set_requires_grad(true);
}

}  // namespace larmor::nn
