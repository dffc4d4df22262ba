#include "larmor/nn/networks/resnet_block.h"

#include <cmath>
#include <vector>

#include <ATen/ops/avg_pool3d.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/zeros.h>
#include <torch/nn/modules/container/modulelist.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/device/initialisation.h"
#include "larmor/device/run_block.h"
#include "larmor/kernels/convolution/conv3d.h"
#include "larmor/kernels/norms/group_norm_silu.h"
#include "larmor/nn/blocks/batch_norm.h"

namespace larmor::nn {
namespace {

constexpr double resnet_norm_epsilon = 1e-5;

ResNetConvShape conv_of(int64_t in, int64_t out, int64_t kernel, int64_t stride = 1, bool bias = false) {
  return {.in_channels = in,
          .out_channels = out,
          .kernel = {kernel, kernel, kernel},
          .stride = {stride, stride, stride},
          .bias = bias};
}

/// Of groups of channels; instance norm has one group a channel.
class ResNetGroupNorm final : public NormBlock {
 public:
  ResNetGroupNorm(int64_t channels, const ResNetLayerKind& kind, Behind behind)
      : behind_(behind),
        groups_(kind.norm == ResNetNorm::instance ? channels : kind.norm_num_groups),
        weight_(register_parameter("weight", at::ones(channels, kind.device))),
        bias_(register_parameter("bias", at::zeros(channels, kind.device))) {}

  at::Tensor forward_onto(const at::Tensor& input, const at::Tensor& residual) override {
    if (input.numel() == input.size(0) * groups_)
      fail(Exit::usage, "instance norm of a single voxel leaves nothing but its bias",
           "use larger images, or model.norm=group");
    at::Tensor value = normalise_groups(input, groups_, weight_, bias_, resnet_norm_epsilon);
    // In place: the norm does not need its result for backward, and ReLU needs only its own.
    if (residual.defined()) value.add_(residual);
    return behind_ == Behind::relu ? at::relu_(value) : value;
  }

 private:
  Behind behind_;
  int64_t groups_;
  at::Tensor weight_, bias_;  // [C]
};

/// Convolution and norm, side by side under the names that the block gives them.
struct ConvAndNorm {
  std::shared_ptr<ResNetConv> conv;
  std::shared_ptr<NormBlock> norm;

  ConvAndNorm(const ResNetConvShape& shape, const ResNetLayerKind& kind, Behind behind)
      : conv(std::make_shared<ResNetConv>(shape, kind.device)),
        norm(make_resnet_norm(shape.out_channels, kind, behind)) {}

  at::Tensor forward(const at::Tensor& input) { return norm->forward(conv->forward(input)); }
};

class ResNetBlock final : public Block {
 public:
  ResNetBlock(bool bottleneck, int64_t in, int64_t planes, int64_t stride, const ResNetLayerKind& kind)
      : in_channels_(in), out_channels_(bottleneck ? 4 * planes : planes), stride_(stride) {
    if (bottleneck) {
      add(conv_of(in, planes, 1), kind);
      add(conv_of(planes, planes, 3, stride), kind);
      add(conv_of(planes, out_channels_, 1), kind);
    } else {
      add(conv_of(in, planes, 3, stride), kind);
      add(conv_of(planes, planes, 3), kind);
    }
    if (!changes() || kind.shortcut_type == ResNetShortcut::zero_padding) return;
    downsample_ = std::make_unique<ConvAndNorm>(conv_of(in, out_channels_, 1, stride, kind.bias_downsample),
                                                kind, Behind::nothing);
    torch::nn::ModuleList list;
    list->push_back(downsample_->conv);
    list->push_back(downsample_->norm);
    register_module("downsample", list);
  }

  at::Tensor forward(const at::Tensor& input) override {
    at::Tensor value = input;
    for (std::size_t i = 0; i + 1 < steps_.size(); ++i) value = steps_[i].forward(value);
    value = steps_.back().conv->forward(value);
    return steps_.back().norm->forward_onto(value, shortcut(input));
  }

 private:
  bool changes() const { return stride_ != 1 || in_channels_ != out_channels_; }

  void add(const ResNetConvShape& shape, const ResNetLayerKind& kind) {
    const ConvAndNorm& step = steps_.emplace_back(shape, kind, Behind::relu);
    register_module(text("conv", steps_.size()), step.conv);
    register_module(text("bn", steps_.size()), step.norm);
  }

  at::Tensor shortcut(const at::Tensor& input) {
    if (!changes()) return input;
    if (downsample_ != nullptr) return downsample_->forward(input);
    // MONAI cuts this path out of the graph; here the gradient passes, as the paper's identity has it.
    const at::Tensor thinned = stride_ == 1 ? input : at::avg_pool3d(input, 1, stride_);
    return at::constant_pad_nd(thinned, {0, 0, 0, 0, 0, 0, 0, out_channels_ - in_channels_});
  }

  int64_t in_channels_, out_channels_, stride_;
  std::vector<ConvAndNorm> steps_;
  std::unique_ptr<ConvAndNorm> downsample_;  // null where the input passes as it is or padded
};

}  // namespace

ResNetConv::ResNetConv(const ResNetConvShape& shape, c10::Device device) : shape_(shape) {
  const auto [depth, height, width] = shape.kernel;
  const auto fan_out = static_cast<double>(shape.out_channels * depth * height * width);
  weight_ = register_parameter(
      "weight", at::empty({shape.out_channels, shape.in_channels, depth, height, width}, device));
  initialise_normal(weight_, 0, std::sqrt(2 / fan_out));
  if (shape.bias) bias_ = register_parameter("bias", at::zeros(shape.out_channels, device));
}

at::Tensor ResNetConv::forward(const at::Tensor& input) {
  const auto [depth, height, width] = shape_.kernel;
  return conv3d(input, weight_, bias_, shape_.stride, {depth / 2, height / 2, width / 2});
}

std::shared_ptr<NormBlock> make_resnet_norm(int64_t channels, const ResNetLayerKind& kind, Behind behind) {
  if (kind.norm == ResNetNorm::batch) return std::make_shared<BatchNorm>(channels, kind.device, behind);
  return std::make_shared<ResNetGroupNorm>(channels, kind, behind);
}

ResNetLinear::ResNetLinear(int64_t in_features, int64_t out_features, c10::Device device) {
  weight_ = register_parameter("weight", at::empty({out_features, in_features}, device));
  initialise_normal(weight_, 0, std::sqrt(2 / static_cast<double>(out_features)));
  bias_ = register_parameter("bias", at::zeros(out_features, device));
}

at::Tensor ResNetLinear::forward(const at::Tensor& input) { return at::linear(input, weight_, bias_); }

std::shared_ptr<Block> make_resnet_block(bool bottleneck, int64_t in_channels, int64_t planes, int64_t stride,
                                         const ResNetLayerKind& kind) {
  return std::make_shared<ResNetBlock>(bottleneck, in_channels, planes, stride, kind);
}

}  // namespace larmor::nn
