#include "larmor/nn/networks/cascade_vit/xray_lifter.h"

#include <cmath>
#include <numbers>

#include <ATen/ops/adaptive_avg_pool2d.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/baddbmm.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/grid_sampler.h>
#include <ATen/ops/meshgrid.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <torch/nn/modules/container/modulelist.h>

#include "larmor/device/send.h"
#include "larmor/kernels/convolution/conv2d.h"
#include "larmor/nn/blocks/pointwise.h"
#include "larmor/nn/blocks/time_res_block.h"

namespace larmor::nn {
namespace {

constexpr int64_t most_xray_groups = 8, residual_blocks = 2, frequencies = 4;
constexpr int64_t position_channels = 3 * 2 * frequencies + 2;
constexpr double xray_norm_epsilon = 1e-6;

std::shared_ptr<LayerWeights> flat_weights(int64_t in, int64_t out, int64_t kernel, c10::Device device) {
  return std::make_shared<LayerWeights>(at::IntArrayRef({out, in, kernel, kernel}), /*has_bias=*/true,
                                        device);
}

at::Tensor flat_conv(const at::Tensor& image, const LayerWeights& weights, int64_t stride = 1) {
  const int64_t padding = weights.weight().size(2) / 2;
  return conv2d(image, weights.weight(), weights.bias(), {stride, stride}, {padding, padding});
}

double radians(double degrees) { return degrees * std::numbers::pi / 180; }

/// Centres of `count` places from -1 to 1.
at::Tensor centres(int64_t count) {
  return (at::arange(count, at::kDouble) + 0.5) * (2.0 / static_cast<double>(count)) - 1;
}

/// Where each voxel of the volume lies in a view, as grid_sampler wants it: [1, g, g, g, 3].
at::Tensor places_in_view(int64_t size, double angle) {
  const double sine = std::sin(radians(angle)), cosine = std::cos(radians(angle));
  const auto axes = at::meshgrid({centres(size), centres(size), centres(size)}, "ij");
  const at::Tensor &anterior = axes[0], &inferior = axes[1], &left = axes[2];
  const at::Tensor column = cosine * left + sine * anterior, depth = cosine * anterior - sine * left;
  return at::stack({column, inferior, depth}, -1).unsqueeze(0);
}

}  // namespace

at::Tensor along_volume_axes(const at::Tensor& lifted, double angle) {
  const double quarters = angle / 90;
  if (quarters != std::round(quarters)) {
    const at::Tensor places = send_like(places_in_view(lifted.size(2), angle), lifted);
    const at::Tensor each = places.expand({lifted.size(0), -1, -1, -1, -1});
    return at::grid_sampler(lifted, each, /*bilinear*/ 0, /*zeros*/ 0, /*align_corners=*/false);
  }
  switch (static_cast<int64_t>(quarters) & 3) {  // right for turns below zero, too
    case 1:
      return lifted.flip({2}).permute({0, 1, 4, 3, 2});
    case 2:
      return lifted.flip({2, 4});
    case 3:
      return lifted.flip({4}).permute({0, 1, 4, 3, 2});
    default:
      return lifted;
  }
}

/// Sine and cosine of each view's angle: [views, 2].
at::Tensor view_directions(const std::vector<double>& angles) {
  std::vector<double> directions;
  for (const double angle : angles) {
    directions.push_back(std::sin(radians(angle)));
    directions.push_back(std::cos(radians(angle)));
  }
  return at::tensor(directions, at::kDouble).view({-1, 2});
}

at::Tensor view_positions(const std::vector<double>& angles, int64_t tokens) {
  const auto axes = at::meshgrid({centres(tokens), centres(tokens)}, "ij");
  const at::Tensor row = axes[0].flatten(), column = axes[1].flatten();
  std::vector<at::Tensor> views;
  for (const double angle : angles) {
    const double sine = std::sin(radians(angle)), cosine = std::cos(radians(angle));
    std::vector<at::Tensor> parts{at::full_like(row, sine).unsqueeze(1),
                                  at::full_like(row, cosine).unsqueeze(1)};
    for (const at::Tensor& place : {row, column * cosine, column * sine}) {
      for (int64_t power = 0; power < frequencies; ++power) {
        const at::Tensor turned = place * (std::numbers::pi * std::exp2(power - 1));
        parts.push_back(turned.sin().unsqueeze(1));
        parts.push_back(turned.cos().unsqueeze(1));
      }
    }
    views.push_back(at::cat(parts, 1));
  }
  return at::cat(views, 0);
}

/// GroupNorm, SiLU, convolution, the view's shift, GroupNorm, SiLU, convolution, beside a shortcut.
class XrayLifter::Residual final : public torch::nn::Module {
 public:
  Residual(int64_t channels, c10::Device device) {
    const int64_t groups = groups_that_divide(channels, most_xray_groups);
    const auto norm = [&] {
      return std::make_shared<GroupNorm>(groups, channels, xray_norm_epsilon, device);
    };
    norm1_ = register_module("norm1", norm());
    conv1_ = register_module("conv1", flat_weights(channels, channels, 3, device));
    view_ = register_module("view_proj", linear_weights(channels, channels, /*has_bias=*/true, device));
    norm2_ = register_module("norm2", norm());
    conv2_ = register_module("conv2", flat_weights(channels, channels, 3, device));
    conv2_->zero();
  }

  at::Tensor forward(const at::Tensor& image, const at::Tensor& view) {
    at::Tensor value = flat_conv(norm1_->forward_silu(image), *conv1_);
    value = value + linear(view, *view_).unsqueeze(2).unsqueeze(3);
    return image + flat_conv(norm2_->forward_silu(value), *conv2_);
  }

 private:
  std::shared_ptr<GroupNorm> norm1_, norm2_;
  std::shared_ptr<LayerWeights> conv1_, conv2_, view_;
};

XrayLifter::XrayLifter(const CascadeVitOptions& options, c10::Device device)
    : options_(options),
      directions_([angles = options.view_angles] { return view_directions(angles); }),
      token_places_([angles = options.view_angles, tokens = options.xray_tokens] {
        return view_positions(angles, tokens);
      }) {
  const int64_t channels = options.xray_channels;
  view_first_ = register_module("view_0", linear_weights(2, channels, /*has_bias=*/true, device));
  view_second_ = register_module("view_2", linear_weights(channels, channels, /*has_bias=*/true, device));
  // One place for each patch of the volume; neighbours overlap by half.
  stem_ = register_module("stem", flat_weights(1, channels, 2 * options.patch_size + 1, device));
  torch::nn::ModuleList list;
  for (int64_t i = 0; i < residual_blocks; ++i) {
    residual_.push_back(std::make_shared<Residual>(channels, device));
    list->push_back(residual_.back());
  }
  register_module("blocks", list);
  norm_ = register_module("norm", std::make_shared<GroupNorm>(groups_that_divide(channels, most_xray_groups),
                                                              channels, xray_norm_epsilon, device));
  profile_ = register_module("profile",
                             flat_weights(channels, options.lifted_channels * options.finest(), 1, device));
  position_ =
      register_module("position", linear_weights(position_channels, channels, /*has_bias=*/true, device));
}

// A pixel's features say at once what lies at each depth of its ray: channels of a flat convolution, so that
// nothing wider than `lifted_channels` ever fills the volume.
at::Tensor XrayLifter::lifted_from(const at::Tensor& features, int64_t rows) const {
  const int64_t views = options_.views();
  const at::Tensor all = pointwise(features, *profile_)
                             .unflatten(1, {options_.lifted_channels, options_.finest()})
                             .unflatten(0, {rows, views});
  std::vector<at::Tensor> lifted;
  for (int64_t view = 0; view < views; ++view) {
    const double angle = options_.view_angles[static_cast<std::size_t>(view)];
    lifted.push_back(along_volume_axes(all.select(1, view), angle));
  }
  return at::cat(lifted, 1);
}

std::vector<at::Tensor> XrayLifter::forward(const at::Tensor& xrays) {
  const int64_t rows = xrays.size(0);
  const at::Tensor turned =
      at::silu(linear(at::silu(linear(directions_.like(xrays), *view_first_)), *view_second_));
  const at::Tensor of_each = turned.unsqueeze(0).expand({rows, -1, -1}).flatten(0, 1);

  const at::Tensor shown =
      at::adaptive_avg_pool2d(xrays.flatten(0, 1).unsqueeze(1), {options_.volume_size, options_.volume_size});
  at::Tensor features = flat_conv(shown, *stem_, options_.patch_size);
  for (const auto& block : residual_) features = block->forward(features, of_each);
  features = norm_->forward_silu(features);

  const int64_t side = options_.xray_tokens;
  const at::Tensor coarse = at::adaptive_avg_pool2d(features, {side, side}).flatten(2).transpose(1, 2);
  const at::Tensor tokens = coarse.unflatten(0, {rows, options_.views()}).flatten(1, 2) +
                            linear(token_places_.like(xrays), *position_);
  const at::Tensor whole = features.mean({2, 3}).unflatten(0, {rows, options_.views()}).mean(1);
  return {lifted_from(features, rows), tokens, whole};
}

}  // namespace larmor::nn
