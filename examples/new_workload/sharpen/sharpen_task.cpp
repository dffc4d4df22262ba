#include "workloads/new_workload/sharpen/sharpen_task.h"

#include <ATen/ATen.h>

#include "larmor/device/initialisation.h"
#include "larmor/nn/blocks/conv_block.h"
#include "larmor/task/prediction.h"

namespace larmor::new_workload {

namespace {

/// A convolution and SiLU.
class ActiveConv final : public nn::ConvBlock {
 public:
  using ConvBlock::ConvBlock;
  at::Tensor forward(const at::Tensor& input) override { return at::silu(ConvBlock::forward(input)); }
};

/// [N, C, D, H, W], each voxel the mean of those around it.
at::Tensor blurred(const at::Tensor& image) {
  return at::avg_pool3d(image, /*kernel_size=*/3, /*stride=*/1, /*padding=*/1);
}

}  // namespace

SharpenTask::SharpenTask(int64_t channels, uint64_t seed, c10::Device device) {
  const SeededInitialisation initialisation(seed);
  network_ = std::make_shared<nn::Chain>();
  network_->push_back(
      std::make_shared<ActiveConv>(nn::ConvShape{.in_channels = 1, .out_channels = channels}, device));
  network_->push_back(
      std::make_shared<ActiveConv>(nn::ConvShape{.in_channels = channels, .out_channels = channels}, device));
  network_->push_back(
      std::make_shared<nn::ConvBlock>(nn::ConvShape{.in_channels = channels, .out_channels = 1}, device));
}

std::vector<Objective> SharpenTask::objectives() {
  return {{.name = "sharpener", .network = network_.get()}};
}

std::vector<at::Tensor> SharpenTask::losses(const Batch& batch, const StepContext& context) {
  const auto& image = batch.at("image");
  const auto loss = (sharpen(blurred(image)) - image).abs().mean();
  context.record("loss", loss);
  return {loss};
}

void SharpenTask::validate(const Batch& batch, Metrics& metrics) {
  const auto& image = batch.at("image");
  const auto error = (sharpen(blurred(image)) - image).abs().flatten(1).mean(1);
  for (int64_t row = 0; row < batch.size(); ++row)
    metrics.value("loss", batch.keys[static_cast<size_t>(row)].example, error[row].item<double>());
}

at::Tensor SharpenTask::sharpen(const at::Tensor& image) { return image + network_->forward(image); }

Prediction SharpenTask::predict(const Batch& inputs, const PredictionContext& context) {
  return {.volumes = {{"image", context.on_grid_of("image", sharpen(inputs.at("image"))[0])}}};
}

}  // namespace larmor::new_workload
