#include "larmor/nn/losses/lpips.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/device/initialisation.h"
#include "larmor/device/module_state.h"
#include "larmor/device/tensors/weights_file.h"
#include "larmor/kernels/draw/draw.h"
#include "larmor/nn/losses/lpips_linear.h"

namespace larmor::nn {
namespace {

constexpr uint64_t trunk_seed = 1;
constexpr double least_norm = 1e-10;
constexpr std::array<float, 3> shift{-0.030F, -0.088F, -0.188F}, scale{0.458F, 0.448F, 0.450F};
constexpr std::array axis_purposes{"perceptual_depth", "perceptual_height", "perceptual_width"};

std::shared_ptr<SqueezeNetFeatures> seeded_trunk(c10::Device device) {
  const SeededInitialisation initialisation(trunk_seed);
  const DrawnInitialisation drawn;  // no checkpoint holds it
  return std::make_shared<SqueezeNetFeatures>(device);
}

/// Registers what stands under `name`, dots included, as torch's state_dict writes it.
at::Tensor register_linear(torch::nn::Module& owner, std::size_t tap, at::Tensor weight) {
  const auto layer = owner.register_module(text("lin", tap), std::make_shared<torch::nn::Module>());
  const auto model = layer->register_module("model", std::make_shared<torch::nn::Module>());
  const auto one = model->register_module("1", std::make_shared<torch::nn::Module>());
  return one->register_buffer("weight", std::move(weight));
}

at::Tensor per_channel(const std::array<float, 3>& values, c10::Device device) {
  return at::tensor(values).view({1, 3, 1, 1}).to(device);
}

at::Tensor unit_length(const at::Tensor& map) {
  return map / (at::linalg_vector_norm(map, 2, {1}, /*keepdim=*/true) + least_norm);
}

/// `count` of the slices across `axis` of each example, each channel an image: [N * count * C, 1, h, w].
at::Tensor drawn_slices(const at::Tensor& volume, int64_t axis, const at::Tensor& places) {
  const at::Tensor slices = volume.movedim(axis, 1).flatten(0, 1);
  return slices.index_select(0, places).flatten(0, 1).unsqueeze(1);
}

}  // namespace

Lpips::Lpips(c10::Device device)
    : features_(register_module("features", seeded_trunk(device))),
      shift_(register_buffer("shift", per_channel(shift, device))),
      scale_(register_buffer("scale", per_channel(scale, device))) {
  const auto published = lpips_linear_weights();
  std::size_t begin = 0;
  for (const int64_t channels : SqueezeNetFeatures::tap_channels()) {
    const auto count = static_cast<std::size_t>(channels);
    const auto weight = at::tensor(published.subspan(begin, count)).view({1, channels, 1, 1}).to(device);
    linear_.push_back(register_linear(*this, linear_.size(), weight));
    begin += count;
  }
  for (const at::Tensor& parameter : parameters()) parameter.requires_grad_(false);
}

void Lpips::read_weights(const std::string& file) {
  const NamedTensors there = read_published_weights(file);
  NamedTensors wanted = state_dict(*this);
  for (auto& [name, tensor] : wanted) {
    const auto found = there.find(name);
    if (found != there.end()) {
      tensor = found->second;
    } else if (std::string_view(name).starts_with("features.")) {
      fail(Exit::usage, text(file, " is no trunk of SqueezeNet 1.1: it holds no ", name),
           "save torchvision's squeezenet1_1 as safetensors, with its own names");
    }
  }
  load_state_dict(*this, wanted);
}

at::Tensor Lpips::per_tap(const at::Tensor& a, const at::Tensor& b) {
  const auto taps_of = [&](const at::Tensor& image) { return features_->forward((image - shift_) / scale_); };
  const auto of_a = taps_of(a), of_b = taps_of(b);
  std::vector<at::Tensor> distances;
  for (std::size_t tap = 0; tap < linear_.size(); ++tap) {
    // Under autocast the maps come in 16 bits, and a sum of squares wants more.
    const auto type = a.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
    const at::Tensor difference = unit_length(of_a[tap].to(type)) - unit_length(of_b[tap].to(type));
    distances.push_back((difference.square() * linear_[tap].to(type)).sum(1).mean({1, 2}));
  }
  return at::stack(distances, 1);
}

at::Tensor slice_distance(Lpips& lpips, const at::Tensor& volume, const at::Tensor& target, double share) {
  const int64_t examples = volume.size(0);
  at::Tensor sum;
  for (int64_t axis = 2; axis < 5; ++axis) {
    const int64_t slices = volume.size(axis);
    const auto count = std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(slices) * share));
    const at::Tensor order =
        draw_uniform_like(at::empty({examples, slices}, volume.options().dtype(at::kFloat)),
                          axis_purposes[static_cast<std::size_t>(axis - 2)])
            .argsort(/*stable=*/true, 1);
    const at::Tensor first = at::arange(examples, order.options()).unsqueeze(1) * slices;
    const at::Tensor places = (order.narrow(1, 0, count) + first).flatten();
    const at::Tensor distances =
        lpips.distance(drawn_slices(volume, axis, places), drawn_slices(target, axis, places));
    const at::Tensor mean = distances.view({examples, -1}).mean(1);
    sum = sum.defined() ? sum + mean : mean;
  }
  return sum;
}

}  // namespace larmor::nn
