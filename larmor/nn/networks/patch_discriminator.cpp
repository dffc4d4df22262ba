#include "larmor/nn/networks/patch_discriminator.h"

#include <ATen/ops/leaky_relu.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/device/initialisation.h"
#include "larmor/device/run_block.h"
#include "larmor/kernels/norms/group_norm_silu.h"

namespace larmor::nn {
namespace {

constexpr int64_t kernel = 4;
constexpr double leak = 0.2;
constexpr double initial_deviation = 0.02;

/// Convolution, instance normalisation where asked, LeakyReLU.
class Stage final : public ConvBlock {
 public:
  Stage(const ConvShape& shape, bool normalised, c10::Device device)
      : ConvBlock(shape, device), normalised_(normalised) {}

  at::Tensor forward(const at::Tensor& input) override {
    at::Tensor value = ConvBlock::forward(input);
    // One group a channel is instance normalisation, and keeps the memory format.
    if (normalised_) value = normalise_groups(value, value.size(1), {}, {}, 1e-5);
    // In place: neither the convolution nor the norm needs its result for backward.
    return at::leaky_relu_(value, leak);
  }

 private:
  bool normalised_;
};

}  // namespace

void PatchDiscriminatorOptions::describe(Fields& f) {
  f.field("spatial_dims", spatial_dims, "axes of space: volumes only", Range{3, 3});
  f.field("in_channels", in_channels, "channels of the image", at_least_one);
  f.field("out_channels", out_channels, "channels of the logit map", at_least_one);
  f.field("channels", channels, "feature channels of the first stage; each later stage doubles them",
          at_least_one);
  f.field("num_layers_d", num_layers_d, "stages between the first and the last", at_least_one);
}

void PatchDiscriminatorOptions::check() const {
  if (spatial_dims != 3)
    fail(Exit::usage, text("spatial_dims is ", spatial_dims, ", and the discriminator works on volumes"),
         "set spatial_dims to 3");
  if (in_channels < 1 || out_channels < 1 || channels < 1 || num_layers_d < 1 || num_layers_d > 16)
    fail(Exit::usage,
         text("the discriminator cannot have in_channels=", in_channels, ", out_channels=", out_channels,
              ", channels=", channels, ", num_layers_d=", num_layers_d),
         "set the channels to 1 or more, and num_layers_d to between 1 and 16");
}

int64_t PatchDiscriminatorOptions::least_size() const {
  // Backwards from one voxel: kernel 4 and padding 1 take a voxel at stride 1, and halve at stride 2.
  int64_t size = 3;
  for (int64_t layer = 0; layer < num_layers_d; ++layer) size *= 2;
  return size;
}

PatchDiscriminatorImpl::PatchDiscriminatorImpl(const PatchDiscriminatorOptions& options, c10::Device device)
    : options_(options) {
  options_.check();
  const auto add = [this](const std::string& name, std::shared_ptr<ConvBlock> stage) {
    stages_.push_back(register_module(name, std::move(stage)));
  };
  int64_t in = options_.in_channels, out = options_.channels;
  const ConvShape first{.in_channels = in, .out_channels = out, .kernel = kernel, .stride = 2};
  add("initial_conv", std::make_shared<Stage>(first, false, device));
  for (int64_t layer = 0; layer < options_.num_layers_d; ++layer) {
    in = std::exchange(out, 2 * out);
    const int64_t stride = layer + 1 < options_.num_layers_d ? 2 : 1;
    const ConvShape middle{
        .in_channels = in, .out_channels = out, .kernel = kernel, .stride = stride, .bias = false};
    add(text(layer), std::make_shared<Stage>(middle, true, device));
  }
  const ConvShape last{.in_channels = out, .out_channels = options_.out_channels, .kernel = kernel};
  add("final_conv", std::make_shared<ConvBlock>(last, device));

  if (device.is_meta()) return;
  const torch::NoGradGuard no_gradient;
  for (at::Tensor& parameter : parameters()) {
    if (parameter.dim() > 1) {
      initialise_normal(parameter, 0, initial_deviation);
    } else {
      parameter.zero_();
    }
  }
}

std::vector<at::Tensor> PatchDiscriminatorImpl::forward(const at::Tensor& image) {
  bool fits = image.dim() == 5 && image.size(1) == options_.in_channels;
  for (int64_t axis = 2; axis < image.dim(); ++axis) fits = fits && image.size(axis) >= options_.least_size();
  if (!fits)
    fail(Exit::usage,
         text("the discriminator takes [N, ", options_.in_channels, ", D, H, W] with at least ",
              options_.least_size(), " voxels an axis, and got other sizes"),
         "use larger crops, or fewer num_layers_d");
  std::vector<at::Tensor> outputs;
  outputs.reserve(stages_.size());
  at::Tensor value = image;
  for (const auto& stage : stages_) outputs.push_back(value = run_block(stage, std::as_const(value)));
  return outputs;
}

}  // namespace larmor::nn
