#include "larmor/nn/blocks/norm_silu_conv.h"

namespace larmor::nn {

NormSiluConv::NormSiluConv(int64_t norm_groups, double norm_epsilon, const ConvShape& shape,
                           c10::Device device)
    : norm_(register_module(
          "0", std::make_shared<GroupNorm>(norm_groups, shape.in_channels, norm_epsilon, device))),
      conv_(register_module("2", std::make_shared<ConvBlock>(shape, device))) {}

at::Tensor NormSiluConv::forward(const at::Tensor& input) { return conv_->forward_normed(input, *norm_); }

}  // namespace larmor::nn
