#include "tests/toy/refiner/refiner_task.h"

#include <utility>

#include <ATen/ATen.h>

#include "larmor/device/initialisation.h"
#include "larmor/train/prediction.h"

#include "tests/toy/active_conv.h"

namespace larmor::toy {

RefinerTask::RefinerTask(int64_t in_channels, int64_t channels, uint64_t seed, std::unique_ptr<Task> coder,
                         c10::Device device)
    : coder_(std::move(coder)) {
  const SeededInitialisation initialisation(seed);
  network_ = std::make_shared<nn::Chain>();
  network_->push_back(std::make_shared<ActiveConv>(
      nn::ConvShape{.in_channels = in_channels, .out_channels = channels}, device));
  network_->push_back(
      std::make_shared<ActiveConv>(nn::ConvShape{.in_channels = channels, .out_channels = channels}, device));
  network_->push_back(std::make_shared<nn::ConvBlock>(
      nn::ConvShape{.in_channels = channels, .out_channels = in_channels}, device));
}

std::vector<Objective> RefinerTask::objectives() { return {{.name = "refiner", .network = network_.get()}}; }

at::Tensor RefinerTask::rebuilt(const at::Tensor& image) {
  const at::NoGradGuard no_grad;
  // What is counted on tensors without values keeps nothing of the coder.
  if (image.is_meta()) return at::empty_like(image);
  auto& coder = dynamic_cast<CoderTask&>(*coder_);
  coder.network().to(image.device(), image.scalar_type());
  return coder.rebuild(image);
}

std::vector<at::Tensor> RefinerTask::losses(const Batch& batch, const StepContext& context) {
  const auto& image = batch.at("image");
  const auto before = rebuilt(image);
  const auto loss = at::mse_loss(before + network_->forward(before), image);
  context.record("loss", loss);
  return {loss};
}

void RefinerTask::validate(const Batch& batch, Metrics& metrics) {
  const auto& image = batch.at("image");
  judge(refine(image), image, batch, metrics);
}

at::Tensor RefinerTask::refine(const at::Tensor& image) {
  const auto before = rebuilt(image);
  return before + network_->forward(before);
}

Prediction RefinerTask::predict(const Batch& inputs, const PredictionContext& context) {
  return {.volumes = {{"image", context.on_grid_of("image", refine(inputs.at("image"))[0])}}};
}

}  // namespace larmor::toy
