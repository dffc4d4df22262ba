#include "tests/toy/refiner/refiner_task.h"

#include <cmath>
#include <utility>

#include <ATen/ATen.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/device/draw_position.h"
#include "larmor/device/initialisation.h"
#include "larmor/kernels/draw/draw.h"
#include "larmor/task/prediction.h"

namespace larmor::toy {

namespace {

constexpr int64_t conditions = 4;  // of the second channel, the guide, the level of noise, what is asked for
constexpr int64_t passes = 3;      // of a prediction
constexpr double predicted_level = 0.25;
constexpr double least_count = 1e-3;  // of an example, so that no count is zero

at::Tensor first_channel(const at::Tensor& image) { return image.narrow(1, 0, 1); }

at::Tensor halved(const at::Tensor& image) { return at::avg_pool3d(image, /*kernel_size=*/2); }

/// [N, 1, …] of the second channel; zeros where the data have none.
at::Tensor second_channel(const Batch& batch) {
  const auto& image = batch.at("image");
  return image.size(1) > 1 ? image.narrow(1, 1, 1) : at::zeros_like(first_channel(image));
}

/// [N, 1, D, H, W] on the grid of `like`, whatever grid the guide lies on; zeros where there is none.
at::Tensor guide_on(const at::Tensor& like, const Batch& batch) {
  const auto guide = batch.tensors.find("guide");
  if (guide == batch.tensors.end()) return at::zeros_like(like);
  return at::upsample_nearest3d(guide->second.to(like.scalar_type()), like.sizes().slice(2));
}

/// [N, 1, 1, 1, 1]: what each row is asked for, 0 or 1.
at::Tensor asked_of(const Batch& batch, const at::Tensor& like) {
  if (like.is_meta()) return at::empty({batch.size(), 1, 1, 1, 1}, like.options());
  std::vector<double> asked;
  for (const auto& key : batch.keys) asked.push_back(static_cast<double>(key.example % 2));
  return at::tensor(asked, like.options()).view({-1, 1, 1, 1, 1});
}

/// [N, conditions, D, H, W] on the grid of the latent; level and asked [N, 1, 1, 1, 1].
at::Tensor condition_maps(const Batch& batch, const at::Tensor& level, const at::Tensor& asked) {
  const auto second = halved(second_channel(batch));
  return at::cat({second, guide_on(second, batch), level.expand_as(second), asked.expand_as(second)}, 1);
}

/// [N, 1, D, H, W], of the latent's grid: as much of a case as is bright, another number in each.
at::Tensor counted_part(const at::Tensor& image) { return halved(first_channel(image)) > 0.3; }

}  // namespace

RefinerTask::RefinerTask(int64_t channels, uint64_t seed, std::unique_ptr<CoderTask> coder,
                         c10::Device device)
    : coder_(std::move(coder)) {
  const SeededInitialisation initialisation(seed);
  network_ = std::make_shared<RefinerNet>(latent_channels, conditions, channels, device);
}

std::vector<Objective> RefinerTask::objectives() {
  return {{.name = "refiner",
           .network = network_.get(),
           .rules = {{.prefix = "blocks.3.", .rate = 0.5, .weight_decay = 0.01}}}};
}

at::Tensor RefinerTask::latent_of(const at::Tensor& image) {
  const at::NoGradGuard no_grad;
  return coder_->network().encode(image) * scale_;
}

void RefinerTask::prepare(const EachBatch& first, const StepContext& context) {
  auto sums = at::zeros({3}, at::kDouble);
  first([&](const Batch& batch) {
    const auto latent = latent_of(first_channel(batch.at("image"))).to(at::kCPU, at::kDouble);
    sums +=
        at::stack({latent.sum(), latent.square().sum(), at::scalar_tensor(latent.numel(), latent.options())});
  });
  sums = context.sum_over_ranks(sums);
  const double mean = (sums[0] / sums[2]).item<double>();
  scale_ = 1 / std::sqrt((sums[1] / sums[2]).item<double>() - mean * mean);
}

at::Tensor RefinerTask::counts(const Batch& batch) {
  return counted_part(batch.at("image")).sum().view({1}).to(at::kDouble) +
         least_count * static_cast<double>(batch.size());
}

at::Tensor RefinerTask::errors(const Batch& batch) {
  const auto& image = batch.at("image");
  const auto latent = latent_of(first_channel(image));
  const auto noise = draw_normal_like(latent, "refiner.noise");
  const auto level = draw_uniform_like(latent.new_empty({latent.size(0), 1, 1, 1, 1}), "refiner.level");
  const auto maps = condition_maps(batch, level, asked_of(batch, latent));
  const auto off = network_->noise_in(latent + level * noise, maps) - noise;
  return (off.square() * counted_part(image)).sum({1, 2, 3, 4});
}

std::vector<at::Tensor> RefinerTask::losses(const Batch& batch, const StepContext& context) {
  const auto wrong = errors(batch).sum();
  context.record_ratio("loss", wrong, counted_part(batch.at("image")).sum());
  return {wrong / context.counts[0]};
}

void RefinerTask::validate(const Batch& batch, Metrics& metrics) {
  const auto wrong = errors(batch).to(at::kCPU, at::kDouble);
  for (int64_t row = 0; row < batch.size(); ++row) {
    const auto image = batch.at("image")[row].unsqueeze(0);
    const auto count = counted_part(image).sum().to(at::kCPU, at::kDouble) + least_count;
    metrics.value("loss", batch.keys[static_cast<size_t>(row)].example, (wrong[row] / count).item<double>());
  }
}

Prediction RefinerTask::predict(const Batch& inputs, const PredictionContext& context) {
  const auto given = context.texts.find("asked");
  const std::string word = given == context.texts.end() ? "dark" : given->second;
  if (word != "dark" && word != "bright")
    fail(Exit::usage, text("asked=", word, " is neither dark nor bright"), "say asked=bright");
  Batch batch = inputs;
  const auto& image = inputs.at("t1");
  const auto t2 = inputs.tensors.find("t2");
  batch.tensors["image"] =
      at::cat({image, t2 == inputs.tensors.end() ? at::zeros_like(image) : t2->second}, /*dim=*/1);
  const auto latent = latent_of(image);
  const auto level = at::full({1, 1, 1, 1, 1}, predicted_level, latent.options());
  const auto maps = condition_maps(batch, level, at::full_like(level, word == "bright" ? 1 : 0));
  auto sum = at::zeros_like(latent);
  for (int64_t pass = 0; pass < passes; ++pass) {
    const DrawTurn turn(pass);
    const auto noisy = latent + level * draw_normal_like(latent, "refiner.noise");
    sum += noisy - level * network_->noise_in(noisy, maps);
    context.progress(static_cast<double>(pass + 1) / passes);
  }
  const auto refined = coder_->network().decode(sum / (scale_ * passes));
  return {.volumes = {{"refined", context.on_grid_of("t1", refined[0])}},
          .numbers = {{"mean", refined.mean().item<double>()}},
          .words = {{"said", word}}};
}

void RefinerTask::save(StateWriter& writer) const { writer.value("scale", scale_); }

void RefinerTask::load(const StateReader& reader, bool /*of_average*/) {
  scale_ = reader.value("scale").get<double>();
}

}  // namespace larmor::toy
