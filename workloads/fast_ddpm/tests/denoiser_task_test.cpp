#include "workloads/fast_ddpm/denoiser/denoiser_task.h"

#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/device/draw_position.h"
#include "larmor/device/module_state.h"
#include "larmor/kernels/draw/draw.h"
#include "larmor/task/prediction.h"

namespace larmor::fast_ddpm {
namespace {

DenoiserConfig small_denoiser() {
  DenoiserConfig config;
  config.network.ch = 4;
  config.network.ch_mult = {1, 2};
  config.network.num_res_blocks = 1;
  config.network.dropout = 0;
  return config;
}

constexpr int64_t side = 12;

Batch two_heads() {
  at::manual_seed(7);
  Batch batch{.tensors = {{"image", at::rand({2, 4, side, side, side}) * 2 - 1}},
              .keys = {{.seed = 1, .epoch = 0, .example = 0}, {.seed = 1, .epoch = 0, .example = 1}}};
  return batch;
}

DrawPosition draws_of_two(std::vector<int64_t> positions) {
  return {.seed = 1, .epochs = {0, 0}, .examples = {0, 1}, .positions = std::move(positions)};
}

nn::FastDdpmUnetImpl& network_of(DenoiserTask& task) {
  return dynamic_cast<nn::FastDdpmUnetImpl&>(*task.objectives().front().network);
}

/// What the network has to say of one item, by hand.
at::Tensor wanted(nn::PredictionType type, const at::Tensor& clean, const at::Tensor& noise, double kept) {
  if (type == nn::PredictionType::epsilon) return noise;
  if (type == nn::PredictionType::sample) return clean;
  return std::sqrt(kept) * noise - std::sqrt(1 - kept) * clean;
}

class LossOf : public ::testing::TestWithParam<nn::PredictionType> {};
INSTANTIATE_TEST_SUITE_P(Type, LossOf,
                         ::testing::Values(nn::PredictionType::epsilon, nn::PredictionType::sample,
                                           nn::PredictionType::v_prediction));

// The same draws, the paper's formula, a channel of each item's own.
TEST_P(LossOf, ABatchIsThatOfItsItemsEachWithATargetOfItsOwn) {
  DenoiserConfig config = small_denoiser();
  config.prediction_type = GetParam();
  DenoiserTask task(config, /*seed=*/3, {8, 8, 8});
  const Batch batch = two_heads();
  at::Tensor loss;
  {
    const DrawScope draws(draws_of_two({4, 5}));
    loss = task.losses(batch, {})[0];
  }
  const DrawScope draws(draws_of_two({4, 5}));
  const at::Tensor& image = batch.at("image");
  const at::Tensor share = draw_uniform_like(at::empty({2, 1}), "target");
  const at::Tensor places = draw_antithetic(11, "time");
  const at::Tensor noise = draw_normal_like(image.narrow(1, 0, 1), "noise");
  EXPECT_EQ(places[0].item<int64_t>() + places[1].item<int64_t>(), 10) << "a pair lies on both sides";
  const std::vector<int64_t> paper{0, 99, 199, 299, 399, 499, 599, 699, 799, 899, 999};
  double sum = 0;
  for (int64_t item = 0; item < 2; ++item) {
    const auto target = static_cast<int64_t>(share[item][0].item<double>() * 4);
    const int64_t time = paper.at(static_cast<std::size_t>(places[item].item<int64_t>()));
    double kept = 1;
    for (int64_t t = 0; t <= time; ++t) kept *= 1 - (1e-4 + (0.02 - 1e-4) * static_cast<double>(t) / 999);
    const at::Tensor clean = image[item][target];
    at::Tensor seen = image[item].clone();
    seen[target] = std::sqrt(kept) * clean + std::sqrt(1 - kept) * noise[item][0];
    const at::Tensor out = network_of(task).forward(seen.unsqueeze(0), at::tensor({time}, at::kLong));
    sum += (out[0][0] - wanted(GetParam(), clean, noise[item][0], kept)).square().mean().item<double>();
  }
  EXPECT_NEAR(loss.item<double>(), sum / 2, 1e-5);
}

TEST(DenoiserTask, NeverLearnsAModalityThatIsMissing) {
  DenoiserTask task(small_denoiser(), /*seed=*/3, {8, 8, 8});
  Batch batch = two_heads();
  at::Tensor present = at::zeros({2, 4}, at::kBool);
  present[0][1] = present[0][3] = present[1][2] = present[1][0] = true;
  batch.tensors["present"] = present;
  batch.tensors["image"] = batch.at("image") * present.view({2, 4, 1, 1, 1});
  // What a missing channel held has to be of no matter: it is zeros for the network, and no target.
  for (int64_t epoch = 0; epoch < 8; ++epoch) {
    DrawPosition position = draws_of_two({0, 1});
    position.epochs = {epoch, epoch};
    const DrawScope draws(position);
    const at::Tensor loss = task.losses(batch, {})[0];
    EXPECT_TRUE(std::isfinite(loss.item<double>()));
    EXPECT_GT(loss.item<double>(), 0.1) << "noise in a channel that is there";
  }
}

/// Values by name and example; full depth, no pictures.
class RecordedMetrics final : public Metrics {
 public:
  void value(const std::string& name, int64_t example, double value) override {
    values[name][example] = value;
  }
  void note(const std::string&, int64_t, double) override {}
  void figure(const std::string&, const SplitMetric&) override {}
  void picture(const std::string&, const Image&) override {}
  bool wants_pictures() const override { return false; }
  ValidationDepth depth() const override { return ValidationDepth::full; }
  bool fits_in_one_pass(double /*examples*/) const override { return fits; }
  std::map<std::string, std::map<int64_t, double>> values;
  bool fits = true;
};

TEST(DenoiserTask, JudgesInWindowsWhatMemoryDoesNotHoldInOnePass) {
  DenoiserConfig config = small_denoiser();
  config.timesteps = 2;
  const at::NoGradGuard no_gradient;
  const Batch both = two_heads();
  const auto judged = [&](const ValidationConfig& validation, bool fits) {
    DenoiserTask task(config, /*seed=*/3, {8, 8, 8}, c10::kCPU, validation);
    RecordedMetrics metrics;
    metrics.fits = fits;
    const DrawScope draws(draws_of_two({}));
    task.validate(both, metrics);
    return metrics.values;
  };
  const auto whole = judged({}, true), narrow = judged({}, false),
             windows = judged({.roi_size = {8, 8, 8}}, true);
  for (const auto* const name : {"loss", "psnr_brain"}) {
    EXPECT_NEAR(narrow.at(name).at(0), windows.at(name).at(0), 1e-4) << name;
    EXPECT_NE(narrow.at(name).at(0), whole.at(name).at(0)) << name;
  }
}

TEST(DenoiserTask, JudgesACaseAlikeInWhateverBatchItIs) {
  DenoiserConfig config = small_denoiser();
  config.timesteps = 2;
  DenoiserTask task(config, /*seed=*/3, {8, 8, 8});
  const at::NoGradGuard no_gradient;
  const Batch both = two_heads();
  RecordedMetrics together, alone;
  {
    const DrawScope draws(draws_of_two({}));
    task.validate(both, together);
  }
  for (int64_t row = 0; row < 2; ++row) {
    const DrawScope draws({.seed = 1, .epochs = {0}, .examples = {row}});
    task.validate({.tensors = {{"image", both.at("image").narrow(0, row, 1)}},
                   .keys = {both.keys[static_cast<std::size_t>(row)]}},
                  alone);
  }
  EXPECT_EQ(together.values, alone.values);
  ASSERT_TRUE(together.values.contains("psnr_brain"));
  EXPECT_NE(together.values["psnr_brain"][0], together.values["psnr_brain"][1]);
}

/// A head of three modalities on the grid of its file.
struct ThreeModalities {
  explicit ThreeModalities(const std::string& missing, int64_t number = 0)
      : inputs{.tensors = {}, .keys = {{.seed = 1, .epoch = 0, .example = number}}} {
    at::manual_seed(9);
    for (const std::string name : {"t1n", "t1c", "t2w", "t2f"}) {
      if (name == missing) continue;
      inputs.tensors[name] = at::rand({1, 1, 20, 14, 10}) * 2 - 1;
      context.grids[name] = {.size_of_file = {20, 14, 10}};
    }
  }

  at::Tensor generated_by(DenoiserTask& task) const {
    const DrawScope draws({.seed = 1, .epochs = {0}, .examples = {inputs.keys.front().example}});
    return task.predict(inputs, context).volumes.at(DenoiserTask::output_name).voxels;
  }

  Batch inputs;
  PredictionContext context;
};

/// `predict` of three modalities with a network that gives `noise` everywhere.
at::Tensor generated(bool fits, double noise, const std::string& missing, int64_t number = 0) {
  DenoiserConfig config = small_denoiser();
  config.timesteps = 2;
  DenoiserTask task(config, /*seed=*/3, {8, 8, 8});
  const at::NoGradGuard no_gradient;
  for (const auto& item : network_of(task).named_parameters()) {
    if (item.key() == "conv_out.weight") item.value().zero_();
    if (item.key() == "conv_out.bias") item.value().fill_(noise);
  }
  ThreeModalities head(missing, number);
  head.context.fits_in_one_pass = [fits](double) { return fits; };
  return head.generated_by(task);
}

/// How far an image is from its linear guess where the network adds nothing; of 1000.
double distance_from_linear_guess(const std::function<void(DenoiserConfig&)>& change = {}) {
  DenoiserConfig config = small_denoiser();
  config.timesteps = 2;
  if (change) change(config);
  config.network.linear_skip = true;
  config.prediction_type = nn::PredictionType::sample;
  DenoiserTask task(config, /*seed=*/3, {8, 8, 8});
  const at::NoGradGuard no_gradient;
  auto weights = network_of(task).named_parameters();
  weights["conv_out.weight"].zero_();
  weights["conv_out.bias"].zero_();
  weights["skip.weight"][1].copy_(at::tensor({0.3, 5.0, -0.2, 0.1}));
  weights["skip.bias"][1] = 0.05;
  ThreeModalities head("t1c");
  auto& given = head.inputs.tensors;
  for (auto& [name, volume] : given) volume.narrow(2, 0, 5).fill_(-1);  // outside the head
  at::Tensor guess = 0.3 * given.at("t1n") - 0.2 * given.at("t2w") + 0.1 * given.at("t2f") + 0.05;
  guess.narrow(2, 0, 5).fill_(-1);
  const at::Tensor expected = (guess[0] + 1) * 500;
  EXPECT_GT(expected.std().item<double>(), 80) << "a volume of one value tests nothing";
  return (head.generated_by(task) - expected).abs().mean().item<double>();
}

TEST(DenoiserTask, GeneratesTheLinearGuessWhereTheNetworkAddsNothing) {
  // Two steps forget all but a thirtieth of the noise that they start from.
  EXPECT_LE(distance_from_linear_guess(), 20);
}

TEST(DenoiserTask, GivesTheMeanOfSeveralSamplesWhoseNoiseAveragesOut) {
  const double of_many = distance_from_linear_guess([](DenoiserConfig& config) { config.samples = 16; });
  EXPECT_LE(of_many, 0.5 * distance_from_linear_guess());
}

TEST(DenoiserTask, GivesInOneStepWhatTheNetworkSaysOfNoiseAlone) {
  // At the noisiest time 1/157 of x_t is the image, and the guess is all that is left of it.
  EXPECT_LE(distance_from_linear_guess([](DenoiserConfig& config) { config.steps = 1; }), 1);
}

TEST(DenoiserTask, SamplesWindowsFromTheNoiseOfTheWholeVolume) {
  for (const double noise : {0.0, 0.3}) {
    const at::Tensor whole = generated(true, noise, "t1c"), in_windows = generated(false, noise, "t1c");
    ASSERT_EQ(whole.sizes().vec(), (std::vector<int64_t>{1, 20, 14, 10}));
    // Of 1000: the first step divides by the image's share of the noisiest time, 1/157, and with it what
    // float32 has rounded.
    EXPECT_LE((whole - in_windows).abs().max().item<double>(), 0.02);
    EXPECT_GT(whole.std().item<double>(), 100) << "a volume of one value tests nothing";
    EXPECT_GE(whole.min().item<double>(), 0);
    EXPECT_LE(whole.max().item<double>(), 1000);
  }
}

TEST(DenoiserTask, DrawsOtherNoiseForOtherCases) {
  EXPECT_TRUE(generated(true, 0, "t2f", 4).equal(generated(true, 0, "t2f", 4)));
  EXPECT_FALSE(generated(true, 0, "t2f", 4).equal(generated(true, 0, "t2f", 5)));
}

TEST(DenoiserTask, RefusesInputsThatDoNotSayWhatIsMissing) {
  DenoiserTask task(small_denoiser(), /*seed=*/3, {8, 8, 8});
  const auto message_of = [&](const std::vector<std::string>& given, const std::string& target) {
    Batch inputs{.tensors = {}, .keys = {{}}};
    PredictionContext context;
    for (const std::string& name : given) {
      inputs.tensors[name] = at::zeros({1, 1, 8, 8, name == "t2w" ? 12 : 8});
      context.grids[name] = {};
    }
    if (!target.empty()) context.texts["target"] = target;
    try {
      task.predict(inputs, context);
    } catch (const Error& error) {
      return error.message();
    }
    return std::string("accepted");
  };
  EXPECT_EQ(message_of({}, ""), "no modality is given");
  EXPECT_EQ(message_of({"t1n", "t2f"}, ""), "these are missing: t1c, t2w");
  EXPECT_EQ(message_of({"t1n", "t1c", "t2f"}, "pd"), "target=pd is none of t1n, t1c, t2w, t2f");
  EXPECT_EQ(message_of({"t1n", "t2w", "t2f"}, "t1c"), "t2w does not lie on the grid of the other modalities");
}

}  // namespace
}  // namespace larmor::fast_ddpm
