#include "larmor/nn/frozen.h"

#include <utility>

#include <torch/nn/module.h>

namespace larmor::nn {

namespace {

std::vector<at::Tensor> learning_parameters(const torch::nn::Module& module) {
  auto parameters = module.parameters();
  std::erase_if(parameters, [](const at::Tensor& parameter) { return !parameter.requires_grad(); });
  return parameters;
}

}  // namespace

Frozen::Frozen(torch::nn::Module& module) : Frozen(learning_parameters(module)) {
  // Now ~Frozen() puts back what has been changed, should one of these throw.
  for (at::Tensor& parameter : thawed_) parameter.set_requires_grad(false);
}

Frozen::Frozen(std::vector<at::Tensor> learning) : thawed_(std::move(learning)) {}

Frozen::~Frozen() {
  for (at::Tensor& parameter : thawed_) parameter.set_requires_grad(true);
}

}  // namespace larmor::nn
