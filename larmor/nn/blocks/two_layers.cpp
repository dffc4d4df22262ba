#include "larmor/nn/blocks/two_layers.h"

#include <ATen/ops/gelu.h>
#include <ATen/ops/relu.h>

namespace larmor::nn {

TwoLayers::TwoLayers(const Shape& shape, double drop, const std::string& path, c10::Device device)
    : between_(shape.between),
      first_(register_module("0", linear_weights(shape.in, shape.hidden, /*has_bias=*/true, device))),
      second_(register_module("3", linear_weights(shape.hidden, shape.out, /*has_bias=*/true, device))),
      dropout_(register_module("2", std::make_shared<Dropout>(drop, path))) {}

at::Tensor TwoLayers::forward(const at::Tensor& input) {
  const at::Tensor hidden = linear(input, *first_);
  return linear(dropout_->forward(between_ == Between::gelu ? at::gelu(hidden) : at::relu(hidden)), *second_);
}

}  // namespace larmor::nn
