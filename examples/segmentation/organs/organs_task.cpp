#include "organs/organs_task.h"

#include <ATen/ATen.h>

#include "larmor/device/initialisation.h"
#include "larmor/judge/class_figures.h"
#include "larmor/nn/metrics/overlap.h"
#include "larmor/task/prediction.h"
#include "larmor/transforms/mask_name.h"

namespace larmor::segmentation {

namespace {

constexpr const char *dice_figure = "dice", *bright_figure = "dice_bright";

}  // namespace

OrgansTask::OrgansTask(const OrgansConfig& config, const TaskSetting& setting)
    : config_(config), count_(std::ssize(config.classes) + 1) {
  const ValidationConfig& whole = setting.validation;
  windows_ = {.size = whole.of_whole_cases() ? whole.roi_size : setting.window,
              .overlap = whole.overlap,
              .divisor = BasicUnet::size_divisor(config.features)};
  const SeededInitialisation initialisation(setting.seed);
  network_ = std::make_shared<BasicUnet>(config.in_channels, count_, config.features, setting.device);
}

std::vector<at::Tensor> OrgansTask::losses(const Batch& batch, const StepContext& context) {
  const at::Tensor logits = network_->forward(batch.at("image"));
  const at::Tensor loss = nn::dice_cross_entropy_loss(logits, batch.at(label_as_mask), config_.loss);
  context.record("loss", loss);
  return {loss};
}

at::Tensor OrgansTask::logits_of(const at::Tensor& images, const std::function<void(double)>& progress) {
  return nn::over_windows(
      images, windows_, [&](const at::Tensor& window) { return network_->forward(window); }, progress);
}

void OrgansTask::record(const char* figure, int64_t example, const at::Tensor& overlap,
                        Metrics& metrics) const {
  const at::Tensor values = overlap.narrow(0, 1, count_ - 1).cpu();  // without the background
  record_classes(metrics, figure, example, config_.classes,
                 {values.const_data_ptr<double>(), static_cast<std::size_t>(values.numel())});
}

void OrgansTask::validate(const Batch& batch, Metrics& metrics) {
  for (int64_t row = 0; row < batch.size(); ++row) {
    const int64_t example = batch.keys[static_cast<std::size_t>(row)].example;
    const at::Tensor image = batch.at("image").narrow(0, row, 1);
    const at::Tensor truth = batch.at(label_as_mask).narrow(0, row, 1);
    const at::Tensor logits = logits_of(image, metrics.progress());
    const at::Tensor found = logits.argmax(1, /*keepdim=*/true);
    metrics.value("loss", example, nn::dice_cross_entropy_loss(logits, truth, config_.loss).item<double>());
    record(dice_figure, example, nn::dice(found, truth, count_)[0], metrics);
    const at::Tensor grey = image.narrow(1, 0, 1), middle = (grey.min() + grey.max()) / 2;
    record(bright_figure, example, nn::dice(grey.gt(middle), truth, count_)[0], metrics);
  }
}

void OrgansTask::summarize(const CaseValues& cases, const CaseValues&, Metrics& metrics) {
  for (const char* const figure : {dice_figure, bright_figure})
    metrics.figure(figure, mean_of_classes(metrics, cases, figure, config_.classes));
}

DeclaredFigures OrgansTask::figures() const {
  using enum Better;
  return {{.name = "loss", .better = lower, .meaning = "Dice loss and cross entropy"},
          {.name = dice_figure,
           .better = higher,
           .meaning = "overlap with the label map, the mean over classes",
           .baselines = {{.name = bright_figure}}},
          {.name = bright_figure,
           .better = higher,
           .meaning = "the same of taking all that is bright for the first class"}};
}

Prediction OrgansTask::predict(const Batch& inputs, const PredictionContext& context) {
  const at::Tensor classes = logits_of(inputs.at("image"), context.progress).argmax(1);
  return {.volumes = {{"label", context.on_grid_of("image", classes)}}};
}

}  // namespace larmor::segmentation
