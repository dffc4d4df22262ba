#include "larmor/nn/networks/resnet.h"

#include <algorithm>
#include <array>
#include <utility>

#include <ATen/ops/adaptive_avg_pool3d.h>
#include <ATen/ops/max_pool3d.h>
#include <torch/nn/modules/container/modulelist.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/device/run_block.h"
#include "larmor/nn/blocks/one_or_each.h"
#include "larmor/nn/networks/checked.h"
#include "larmor/nn/networks/resnet_block.h"

namespace larmor::nn {
namespace {

constexpr std::array<int64_t, 4> resnet_channels = {64, 128, 256, 512};
constexpr std::array<int64_t, 7> resnet_depths = {10, 18, 34, 50, 101, 152, 200};
constexpr std::array<std::array<int64_t, 4>, 7> resnet_blocks = {
    {{1, 1, 1, 1}, {2, 2, 2, 2}, {3, 4, 6, 3}, {3, 4, 6, 3}, {3, 4, 23, 3}, {3, 8, 36, 3}, {3, 24, 36, 3}}};
constexpr int64_t first_bottleneck_depth = 50;

std::array<int64_t, 4> blocks_of(int64_t depth) {
  const auto found = std::ranges::find(resnet_depths, depth);
  if (found == resnet_depths.end())
    fail(Exit::usage, text("model.depth is ", depth, ", and there is no such ResNet"),
         "set model.depth to 10, 18, 34, 50, 101, 152 or 200");
  return resnet_blocks[static_cast<std::size_t>(found - resnet_depths.begin())];
}

std::array<int64_t, 3> of_axes(const std::vector<int64_t>& sizes) {
  if (sizes.size() == 1) return {sizes[0], sizes[0], sizes[0]};
  return {sizes[0], sizes[1], sizes[2]};
}

void check_axes(const char* name, const std::vector<int64_t>& sizes) {
  const bool fits = (sizes.size() == 1 || sizes.size() == 3) &&
                    std::ranges::all_of(sizes, [](int64_t size) { return size >= 1; });
  if (!fits)
    fail(Exit::usage, text("model.", name, " wants one number, or one for each of the three axes, from 1 on"),
         text("set model.", name, "=[7], say, or [7, 7, 3]"));
}

}  // namespace

void ResNetOptions::describe(Fields& f) {
  f.field("depth", depth, "layers of the ResNet: 10, 18, 34, 50, 101, 152 or 200", Range{10, 200});
  f.field("n_input_channels", n_input_channels, "channels of the image", at_least_one);
  describe_one_or_each(f, "conv1_t_size", conv1_t_size, 3,
                       "kernel of the first convolution along each axis; a list of one number holds for all");
  describe_one_or_each(f, "conv1_t_stride", conv1_t_stride, 3,
                       "stride of the first convolution along each axis; a list of one number holds for all");
  f.field("no_max_pool", no_max_pool, "leaves out the pooling behind the first convolution");
  f.choice("shortcut_type", shortcut_type,
           {{"A", ResNetShortcut::zero_padding}, {"B", ResNetShortcut::convolution}},
           "beside blocks that change the shape: A pads with zero channels, B convolves");
  f.field("widen_factor", widen_factor, "all channels times this", at_least_zero);
  f.field("bias_downsample", bias_downsample, "bias of the shortcut's convolution");
  f.choice("norm", norm,
           {{"batch", ResNetNorm::batch}, {"group", ResNetNorm::group}, {"instance", ResNetNorm::instance}},
           "normalisation; batch depends on the micro-batch, the others do not");
  f.field("norm_num_groups", norm_num_groups,
          "groups of the group normalisation; divides the stem's channels", at_least_one);
}

void ResNetOptions::check() const {
  blocks_of(depth);
  check_axes("conv1_t_size", conv1_t_size);
  check_axes("conv1_t_stride", conv1_t_stride);
  if (n_input_channels < 1 || num_classes < 1)
    fail(Exit::usage, text("a ResNet from ", n_input_channels, " channels to ", num_classes, " numbers"),
         "set model.n_input_channels to 1 or more");
  for (int64_t level = 0; level < static_cast<int64_t>(resnet_channels.size()); ++level) {
    const int64_t of_level = channels(level);
    if (of_level < 1)
      fail(Exit::usage,
           text("model.widen_factor=", widen_factor, " leaves no channels of ", resnet_channels[0]),
           text("set it to ", 1.0 / static_cast<double>(resnet_channels[0]), " or more"));
    if (norm != ResNetNorm::group || (norm_num_groups >= 1 && of_level % norm_num_groups == 0)) continue;
    fail(Exit::usage,
         text("model.norm_num_groups=", norm_num_groups, " does not divide ", of_level, " channels"),
         "set it to 1, 2, 4 or 8, or another model.widen_factor");
  }
}

int64_t ResNetOptions::channels(int64_t level) const {
  return static_cast<int64_t>(static_cast<double>(resnet_channels[static_cast<std::size_t>(level)]) *
                              widen_factor);
}

ResNetImpl::ResNetImpl(const ResNetOptions& options, c10::Device device) : options_(checked(options)) {
  const ResNetLayerKind kind{.norm = options_.norm,
                             .norm_num_groups = options_.norm_num_groups,
                             .shortcut_type = options_.shortcut_type,
                             .bias_downsample = options_.bias_downsample,
                             .device = device};
  const ResNetConvShape stem{.in_channels = options_.n_input_channels,
                             .out_channels = options_.channels(0),
                             .kernel = of_axes(options_.conv1_t_size),
                             .stride = of_axes(options_.conv1_t_stride)};
  conv1_ = register_module("conv1", std::make_shared<ResNetConv>(stem, device));
  bn1_ = register_module("bn1", make_resnet_norm(options_.channels(0), kind, Behind::relu));

  const bool bottleneck = options_.depth >= first_bottleneck_depth;
  const auto counts = blocks_of(options_.depth);
  int64_t channels = options_.channels(0);
  for (std::size_t level = 0; level < counts.size(); ++level) {
    const int64_t planes = options_.channels(static_cast<int64_t>(level));
    torch::nn::ModuleList layer;
    for (int64_t index = 0; index < counts[level]; ++index) {
      const int64_t stride = level > 0 && index == 0 ? 2 : 1;
      blocks_.push_back(make_resnet_block(bottleneck, channels, planes, stride, kind));
      layer->push_back(blocks_.back());
      channels = bottleneck ? 4 * planes : planes;
    }
    register_module(text("layer", level + 1), layer);
  }

  fc_ = register_module("fc", std::make_shared<ResNetLinear>(channels, options_.num_classes, device));
}

at::Tensor ResNetImpl::forward(const at::Tensor& image) { return head(features(image)); }

at::Tensor ResNetImpl::head(const at::Tensor& features) { return run_block(fc_, features); }

at::Tensor ResNetImpl::features(const at::Tensor& image) {
  if (image.dim() != 5 || image.size(1) != options_.n_input_channels)
    fail(Exit::usage,
         text("the ResNet takes [N, ", options_.n_input_channels, ", D, H, W], and got ", image.dim(),
              " axes", image.dim() > 1 ? text(" with ", image.size(1), " channels") : ""),
         "set model.n_input_channels as the data has them");
  at::Tensor value = run_block(conv1_, image);
  value = run_block(bn1_, std::as_const(value));  // and ReLU
  if (!options_.no_max_pool) value = at::max_pool3d(value, 3, /*stride=*/2, /*padding=*/1);
  value = run_blocks(blocks_, std::move(value));
  return at::adaptive_avg_pool3d(value, {1, 1, 1}).flatten(1);
}

}  // namespace larmor::nn
