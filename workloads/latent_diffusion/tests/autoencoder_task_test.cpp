// The perceptual term of the first stage. The rest of its losses is held to the reference by the goldens.
#include "workloads/latent_diffusion/autoencoder/autoencoder_task.h"

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/device/draw_position.h"

#include "workloads/latent_diffusion/tests/small_autoencoder.h"

namespace larmor::latent_diffusion {
namespace {

AutoencoderConfig config_with(const std::string& network) {
  AutoencoderConfig config = small_autoencoder();
  config.perceptual_network = network;
  config.perceptual_weight = 0.5;
  return config;
}

Batch images(int64_t first, int64_t count) {
  Batch batch;
  for (int64_t example = first; example < first + count; ++example)
    batch.keys.push_back({.seed = 5, .epoch = 0, .example = example});
  at::Tensor all = at::arange(4 * 20 * 20 * 20, at::kFloat).sin().abs().view({4, 1, 20, 20, 20});
  batch.tensors = {{"image", all.narrow(0, first, count)}};
  return batch;
}

DrawScope draws_of(const Batch& batch) {
  DrawPosition position{.seed = 5, .epochs = {}, .examples = {}};
  for (const auto& key : batch.keys) {
    position.epochs.push_back(key.epoch);
    position.examples.push_back(key.example);
  }
  return DrawScope(position);
}

struct Step {
  std::map<std::string, double> records;
  at::Tensor gradient;  // of the first parameter
};

Step step_of(AutoencoderTask& task, const Batch& batch) {
  const auto parameter = task.objectives().front().network->parameters().front();
  if (parameter.grad().defined()) parameter.mutable_grad().zero_();
  Step step;
  const StepContext context{.record = [&](const std::string& name, const at::Tensor& value) {
    step.records[name] = value.item<double>();
  }};
  const auto draws = draws_of(batch);
  task.losses(batch, context).front().backward();
  step.gradient = parameter.grad().clone();
  return step;
}

TEST(AutoencoderTask, AddsTheWeightedPerceptualTermAndItsGradient) {
  AutoencoderTask with(config_with("random"), /*seed=*/1, {20, 20, 20});
  AutoencoderTask without(config_with(""), /*seed=*/1, {20, 20, 20});
  const auto seen = step_of(with, images(0, 2)), plain = step_of(without, images(0, 2));
  EXPECT_FALSE(plain.records.contains("perceptual"));
  EXPECT_GT(seen.records.at("perceptual"), 0);
  EXPECT_EQ(seen.records.at("recon"), plain.records.at("recon"));
  EXPECT_NEAR(seen.records.at("loss"), plain.records.at("loss") + 0.5 * seen.records.at("perceptual"), 1e-6);
  EXPECT_FALSE(at::equal(seen.gradient, plain.gradient));
}

/// Keeps what is shown; pictures are wanted.
class ShownMetrics final : public Metrics {
 public:
  void value(const std::string&, int64_t, double) override {}
  void note(const std::string&, int64_t, double) override {}
  void figure(const std::string&, const SplitMetric&) override {}
  void picture(const std::string&, const Image&) override {}
  bool wants_pictures() const override { return true; }
  ValidationDepth depth() const override { return ValidationDepth::quick; }
  std::optional<Affine> grid(int64_t example) const override {
    return example == 2 ? std::nullopt : std::optional(identity_affine());
  }
  void show(const std::string& name, const Panel& frame, PanelCase one) override {
    names.push_back(name);
    units.push_back(frame.unit_of_length);
    cases.push_back(std::move(one));
  }
  std::vector<std::string> names, units;
  std::vector<PanelCase> cases;
};

TEST(AutoencoderTask, ShowsEachImageBesideItsReconstructionAndTheirDifference) {
  AutoencoderTask task(small_autoencoder(), /*seed=*/1, {20, 20, 20});
  const torch::NoGradGuard no_gradient;
  const Batch all = images(0, 4);
  ShownMetrics metrics;
  {
    const auto draws = draws_of(all);
    task.validate(all, metrics);
  }
  EXPECT_THAT(metrics.names, ::testing::Each("reconstruction"));
  EXPECT_THAT(metrics.units, ::testing::ElementsAre("mm", "mm", "voxels", "mm"));
  for (std::size_t example = 0; example < 4; ++example) {
    const PanelCase& shown = metrics.cases[example];
    EXPECT_EQ(shown.name, std::to_string(example));
    ASSERT_EQ(shown.images.size(), 3U);
    EXPECT_EQ(shown.images[0].title, "target");
    ASSERT_EQ(shown.images[0].planes.size(), 3U);
    const PanelPlane& axial = shown.images[0].planes[2];
    // The first value is right and anterior; where nobody knows what that is, the last row of the first
    // column.
    const auto voxel = all.at("image")[static_cast<int64_t>(example)][0][example == 2 ? 0 : 19][19][10];
    EXPECT_EQ(axial.values[0], voxel.item<float>()) << example;
    EXPECT_EQ(shown.images[2].scale, 1U);
    EXPECT_EQ(shown.images[2].planes[2].values[7],
              std::abs(axial.values[7] - shown.images[1].planes[2].values[7]));
  }
}

/// Before, the clamp was all that was shown: 1000 from the third step to the last.
TEST(AutoencoderTask, ShowsTheRealKlBesideWhatTheClampCountsOfIt) {
  AutoencoderConfig free = small_autoencoder(), clamped = free;
  free.kl_limit = 0;
  clamped.kl_limit = 0.25;
  AutoencoderTask without(free, /*seed=*/1, {20, 20, 20}), with(clamped, /*seed=*/1, {20, 20, 20});
  const auto whole = step_of(without, images(0, 2)).records, cut = step_of(with, images(0, 2)).records;
  EXPECT_GT(whole.at("kl"), 0.25);
  EXPECT_NEAR(cut.at("kl"), whole.at("kl"), 1e-3 * whole.at("kl"));
  EXPECT_EQ(cut.at("kl_counted"), 0.25);
  EXPECT_FALSE(whole.contains("kl_counted"));
}

TEST(AutoencoderTask, ComplainsOfAKlThatIsAtItsClampAndOfNoOther) {
  AutoencoderConfig config = small_autoencoder();
  config.kl_limit = 1000;
  const AutoencoderTask task(config, /*seed=*/1, {20, 20, 20});
  const auto complaint = task.complaint({{"kl", 1251}, {"kl_counted", 1000}});
  ASSERT_TRUE(complaint);
  EXPECT_THAT(complaint->words, ::testing::HasSubstr("loss.kl_limit=1000: the KL itself is 1251"));
  EXPECT_FALSE(task.complaint({{"kl", 999}, {"kl_counted", 999}}));
  EXPECT_FALSE(task.complaint({{"kl", 1251}})) << "nothing is clamped";
  config.kl_weight = 0;
  const AutoencoderTask weightless(config, /*seed=*/1, {20, 20, 20});
  EXPECT_FALSE(weightless.complaint({{"kl", 1251}, {"kl_counted", 1000}}));
}

TEST(AutoencoderTask, HasTheSamePerceptualTermHoweverABatchIsDivided) {
  AutoencoderTask task(config_with("random"), /*seed=*/1, {20, 20, 20});
  const auto whole = step_of(task, images(0, 2));
  const auto first = step_of(task, images(0, 1)), second = step_of(task, images(1, 1));
  EXPECT_NEAR(whole.records.at("perceptual"),
              (first.records.at("perceptual") + second.records.at("perceptual")) / 2, 1e-6);
}

TEST(AutoencoderTask, ItsPerceptualNetworkIsACompanionThatLearnsNothing) {
  AutoencoderTask task(config_with("random"), /*seed=*/1, {20, 20, 20});
  ASSERT_EQ(task.companions().size(), 1U);
  step_of(task, images(0, 1));
  for (const auto& parameter : task.companions().front()->parameters())
    EXPECT_FALSE(parameter.grad().defined());
  EXPECT_EQ(AutoencoderTask(config_with(""), 1, {20, 20, 20}).companions().size(), 0U);
}

}  // namespace
}  // namespace larmor::latent_diffusion
