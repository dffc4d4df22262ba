#include "larmor/nn/blocks/time_res_block.h"

#include <algorithm>

#include <ATen/ops/avg_pool3d.h>
#include <ATen/ops/silu.h>

#include "larmor/kernels/convolution/channel_bias.h"
#include "larmor/kernels/convolution/upsample_conv.h"
#include "larmor/kernels/join_channels.h"

namespace larmor::nn {
namespace {

std::shared_ptr<GroupNorm> time_res_norm(int64_t channels, const TimeResBlockKind& kind) {
  const int64_t groups = kind.fewer_groups_where_needed ? groups_that_divide(channels, kind.norm_num_groups)
                                                        : kind.norm_num_groups;
  return std::make_shared<GroupNorm>(groups, channels, kind.norm_epsilon, kind.device);
}

}  // namespace

int64_t groups_that_divide(int64_t channels, int64_t most) {
  int64_t groups = std::min(channels, most);
  while (channels % groups != 0) --groups;
  return groups;
}

TimeResBlock::TimeResBlock(const TimeResBlockKind& kind, int64_t in_channels, int64_t out_channels,
                           const std::string& path, Resampling resampling)
    : resampling_(resampling) {
  norm1_ = register_module("norm1", time_res_norm(in_channels, kind));
  conv1_ = conv("conv1", {in_channels, out_channels}, kind);
  time_ = register_module(kind.time_name, linear_weights(kind.time_channels, out_channels,
                                                         /*has_bias=*/true, kind.device));
  norm2_ = register_module("norm2", time_res_norm(out_channels, kind));
  dropout_ = register_module("dropout", std::make_shared<Dropout>(kind.dropout, path));
  conv2_ = conv("conv2", {out_channels, out_channels}, kind);
  if (kind.starts_as_shortcut) conv2_->layer()->zero();
  if (in_channels == out_channels) return;
  const ConvShape pointwise{
      .in_channels = in_channels, .out_channels = out_channels, .kernel = 1, .padding = 0};
  shortcut_ = conv(kind.shortcut_name, pointwise, kind);
}

std::shared_ptr<ConvBlock> TimeResBlock::conv(const char* name, const ConvShape& shape,
                                              const TimeResBlockKind& kind) {
  auto block = std::make_shared<ConvBlock>(shape, kind.device);
  if (kind.names_convolutions) {
    register_module(name, block);
  } else {
    register_module(name, block->layer());
  }
  return block;
}

at::Tensor TimeResBlock::resampled(const at::Tensor& value) const {
  switch (resampling_) {
    case Resampling::halved:
      return at::avg_pool3d(value, /*kernel_size=*/2, /*stride=*/2);
    case Resampling::doubled:
      return doubled(value);
    case Resampling::none:
      break;
  }
  return value;
}

at::Tensor TimeResBlock::first_half(const at::Tensor& whole) const {
  if (resampling_ == Resampling::none) return conv1_->forward_normed(whole, *norm1_);
  const at::Tensor value = norm1_->forward_silu(whole);
  return resampling_ == Resampling::doubled ? upsample_conv(value, conv1_->weight(), conv1_->bias())
                                            : conv1_->forward(resampled(value));
}

at::Tensor TimeResBlock::second_half(const at::Tensor& value) const {
  if (!dropout_->drops()) return conv2_->forward_normed(value, *norm2_);
  return conv2_->forward(dropout_->forward(norm2_->forward_silu(value)));
}

at::Tensor TimeResBlock::forward(const at::Tensor& input, const at::Tensor& skip, const at::Tensor& time) {
  const at::Tensor whole = skip.defined() ? join_channels(input, skip) : input;
  at::Tensor value = first_half(whole);
  // In place here and below: backward needs neither a convolution's result nor a sum.
  value = add_channel_bias(value, linear(at::silu(time), *time_));
  value = second_half(value);
  const at::Tensor beside = resampled(whole);
  return value.add_(shortcut_ ? shortcut_->forward(beside) : beside);
}

}  // namespace larmor::nn
