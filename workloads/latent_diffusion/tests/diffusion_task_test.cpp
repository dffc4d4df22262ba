#include "workloads/latent_diffusion/diffusion/diffusion_task.h"

#include <cmath>
#include <map>

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/device/draw_position.h"
#include "larmor/nn/metrics/image_metrics.h"
#include "larmor/task/prediction.h"

#include "workloads/latent_diffusion/tests/noted_metrics.h"
#include "workloads/latent_diffusion/tests/small_autoencoder.h"

namespace larmor::latent_diffusion {
namespace {

using ::testing::HasSubstr;

DiffusionConfig small_denoiser(DiffusionConfig::Condition condition = DiffusionConfig::Condition::none) {
  DiffusionConfig config;
  config.condition = condition;
  config.network.in_channels = condition == DiffusionConfig::Condition::none ? 2 : 4;
  config.network.out_channels = 2;
  config.network.channels = {8, 8};
  config.network.num_res_blocks = {1};
  config.network.attention_levels = {false, false};
  config.network.num_head_channels = {0, 8};
  config.network.norm_num_groups = 4;
  config.sampling.num_inference_steps = 2;
  return config;
}

DiffusionTask make_task(const DiffusionConfig& config) {
  const std::vector<int64_t> window{16, 16, 16};
  Affine affine = identity_affine();
  affine[0][0] = 2;
  DiffusionTask task(config, /*seed=*/1,
                     std::make_unique<AutoencoderTask>(small_autoencoder(), /*seed=*/2, window),
                     {.window = window, .affine = affine});
  task.companions().front()->eval();
  for (const Objective& objective : task.objectives()) objective.network->eval();
  return task;
}

/// Images of noise around 0.5 from `first` on, and labels of other noise.
Batch batch_of(int64_t first, int64_t count) {
  Batch batch;
  std::vector<at::Tensor> images, labels;
  for (int64_t example = first; example < first + count; ++example) {
    batch.keys.push_back({.seed = 5, .epoch = 0, .example = example});
    at::Generator generator = at::detail::createCPUGenerator(static_cast<uint64_t>(example));
    images.push_back(at::rand({1, 16, 16, 16}, generator));
    labels.push_back(at::rand({1, 16, 16, 16}, generator));
  }
  batch.tensors = {{"image", at::stack(images)}, {"label", at::stack(labels)}};
  return batch;
}

DrawScope scope_of(const Batch& batch) {
  DrawPosition position{.seed = 5, .epochs = {}, .examples = {}};
  for (const auto& key : batch.keys) {
    position.epochs.push_back(0);
    position.examples.push_back(key.example);
  }
  return DrawScope(position);
}

class Values final : public StateWriter {
 public:
  void tensor(std::string_view name, const at::Tensor& value) override { tensors[std::string(name)] = value; }
  void value(std::string_view, const Json&) override {}
  std::map<std::string, at::Tensor> tensors;
};

at::Tensor scale_of(const DiffusionTask& task) {
  Values values;
  task.save(values);
  return values.tensors.at("scale_factor");
}

void prepare(DiffusionTask& task, const std::vector<Batch>& batches) {
  task.prepare(
      [&](const auto& use) {
        for (const Batch& batch : batches) {
          const DrawScope draws = scope_of(batch);
          use(batch);
        }
      },
      {});
}

at::Tensor sampled_latents(const DiffusionTask&, const Batch& batch) {
  const LatentSpace space(
      std::make_unique<AutoencoderTask>(small_autoencoder(), 2, std::vector<int64_t>{16, 16, 16}));
  space.network()->eval();
  const DrawScope draws = scope_of(batch);
  return space.sampled(batch.at("image"), "posterior");
}

TEST(DiffusionTask, ScalesLatentsToADeviationOfOne) {
  const Batch batch = batch_of(0, 3);
  DiffusionTask task = make_task(small_denoiser());
  prepare(task, {batch});
  const double deviation = sampled_latents(task, batch).std().item<double>();
  EXPECT_NEAR(scale_of(task).item<double>() * deviation, 1, 1e-5);
}

TEST(DiffusionTask, ScalesEachChannelByItsOwnDeviationWhereAsked) {
  const Batch batch = batch_of(0, 3);
  DiffusionConfig config = small_denoiser();
  config.scale = DiffusionConfig::Scale::per_channel;
  DiffusionTask task = make_task(config);
  prepare(task, {batch});
  const at::Tensor latents = sampled_latents(task, batch), scale = scale_of(task);
  ASSERT_EQ(scale.sizes(), (std::vector<int64_t>{1, 2, 1, 1, 1}));
  for (int64_t channel = 0; channel < 2; ++channel)
    EXPECT_NEAR(scale[0][channel].item<double>() * latents.select(1, channel).std().item<double>(), 1, 1e-5);
}

TEST(DiffusionTask, FindsTheSameScaleHoweverTheFirstBatchIsDivided) {
  DiffusionTask whole = make_task(small_denoiser()), divided = make_task(small_denoiser());
  prepare(whole, {batch_of(0, 4)});
  prepare(divided, {batch_of(0, 1), batch_of(1, 2), batch_of(3, 1)});
  EXPECT_NEAR(scale_of(whole).item<double>() / scale_of(divided).item<double>(), 1, 1e-6);
}

TEST(DiffusionTask, BeginsAtTheLossOfAnsweringNothing) {
  // The last convolution is zero, so that the error of a row is the mean square of its noise.
  const Batch batch = batch_of(0, 8);
  for (const auto condition : {DiffusionConfig::Condition::none, DiffusionConfig::Condition::concat}) {
    DiffusionTask task = make_task(small_denoiser(condition));
    const DrawScope draws = scope_of(batch);
    const at::Tensor loss = task.losses(batch, {}).front();
    EXPECT_TRUE(loss.requires_grad());
    EXPECT_NEAR(loss.item<double>(), 1, 0.05);
  }
}

TEST(DiffusionTask, LearnsEveryPredictionTypeOverEverySchedule) {
  using ScheduleKind = nn::NoiseScheduleOptions::Kind;
  const Batch batch = batch_of(0, 2);
  for (const auto kind : {ScheduleKind::scaled_linear, ScheduleKind::cosine, ScheduleKind::rectified_flow}) {
    for (const auto type :
         {nn::PredictionType::sample, nn::PredictionType::v_prediction, nn::PredictionType::flow}) {
      DiffusionConfig config = small_denoiser();
      config.noise.schedule = kind;
      config.prediction_type = type;
      config.min_snr_gamma = 5;
      config.sampling.sampler = nn::SamplerOptions::Kind::euler;
      config.check();
      DiffusionTask task = make_task(config);
      const DrawScope draws = scope_of(batch);
      EXPECT_TRUE(std::isfinite(task.losses(batch, {}).front().item<double>()));
    }
  }
}

Prediction predict(DiffusionTask& task, const Batch& inputs, const PredictionContext& context) {
  const at::NoGradGuard no_grad;
  const DrawScope draws({.seed = 9, .epochs = {0}, .examples = {context.number}});
  return task.predict(inputs, context);
}

TEST(DiffusionTask, InventsAnImageOnTheGridOfTraining) {
  DiffusionTask task = make_task(small_denoiser());
  const Volume first = predict(task, {}, {.number = 0}).volumes.at("sample");
  EXPECT_EQ(first.voxels.sizes(), (std::vector<int64_t>{1, 16, 16, 16}));
  EXPECT_EQ(spacing_of(first.affine)[0], 2);
  EXPECT_FALSE(at::equal(predict(task, {}, {.number = 1}).volumes.at("sample").voxels, first.voxels));
  EXPECT_TRUE(at::equal(predict(task, {}, {.number = 0}).volumes.at("sample").voxels, first.voxels));
}

/// A network that answers something: a new one's last convolution is zero.
void stir(DiffusionTask& task) {
  const at::NoGradGuard no_grad;
  at::Generator generator = at::detail::createCPUGenerator(8);
  for (const at::Tensor& parameter : task.objectives().front().network->parameters())
    parameter.add_(0.1 * at::randn(parameter.sizes(), generator));
}

PredictionContext context_of(const at::Tensor& image, bool fits) {
  PredictionContext context;
  const GridSize size{image.size(2), image.size(3), image.size(4)};
  context.grids["low"] = {.of_file = identity_affine(), .prepared = identity_affine(), .size_of_file = size};
  context.fits_in_one_pass = [fits](double) { return fits; };
  return context;
}

TEST(DiffusionTask, TranslatesAnImageOfAnySizeWholeAndInWindows) {
  DiffusionTask task = make_task(small_denoiser(DiffusionConfig::Condition::concat));
  stir(task);
  for (const auto& sizes : std::vector<std::vector<int64_t>>{{1, 1, 16, 16, 16}, {1, 1, 21, 30, 13}}) {
    at::Generator generator = at::detail::createCPUGenerator(3);
    Batch inputs;
    inputs.tensors["low"] = at::rand(sizes, generator);
    for (const bool fits : {true, false}) {
      const auto context = context_of(inputs.tensors["low"], fits);
      const at::Tensor voxels = predict(task, inputs, context).volumes.at("sample").voxels;
      EXPECT_EQ(voxels.sizes(), at::IntArrayRef(sizes).slice(1));
      EXPECT_TRUE(voxels.isfinite().all().item<bool>());
    }
  }
}

TEST(DiffusionTask, MakesTheSameOfOneWindowAsOfTheWhole) {
  DiffusionTask task = make_task(small_denoiser(DiffusionConfig::Condition::concat));
  stir(task);
  at::Generator generator = at::detail::createCPUGenerator(3);
  Batch inputs;
  inputs.tensors["low"] = at::rand({1, 1, 16, 16, 16}, generator);
  const auto made = [&](bool fits) {
    return predict(task, inputs, context_of(inputs.tensors["low"], fits)).volumes.at("sample").voxels;
  };
  EXPECT_LE((made(true) - made(false)).abs().max().item<double>(), 1e-5);
}

TEST(DiffusionTask, JudgesATranslationBesideItsInputAndAFilterThatSuitsTrainingCases) {
  DiffusionTask task = make_task(small_denoiser(DiffusionConfig::Condition::concat));
  const Batch batch = batch_of(0, 2), trained = batch_of(2, 2);
  NotedMetrics training, judged;
  training.reference = true;
  const c10::NoGradGuard no_graph;
  const auto validate = [&](const Batch& cases, NotedMetrics& metrics) {
    const DrawScope scope = scope_of(cases);
    task.validate(cases, metrics);
  };
  validate(trained, training);
  validate(batch, judged);
  task.summarize(judged.cases, training.cases, judged);
  const double psnr = nn::psnr(batch.at("image"), batch.at("label"), 1).mean().item<double>();
  EXPECT_NEAR(judged.figures.at("psnr_input"), psnr, 1e-9);
  EXPECT_EQ(judged.figures.at("gaussian_voxels"), 4) << "noise tells nothing of other noise but its mean";
  EXPECT_GT(judged.figures.at("psnr_gaussian"), psnr + 2);
}

NotedMetrics shown_of(DiffusionTask& task, const Batch& batch,
                      ValidationDepth depth = ValidationDepth::full) {
  NotedMetrics metrics;
  metrics.pictures = true;
  metrics.wanted_depth = depth;
  const c10::NoGradGuard no_graph;
  const DrawScope scope = scope_of(batch);
  task.validate(batch, metrics);
  return metrics;
}

std::vector<std::string> titles_of(const PanelCase& one) {
  std::vector<std::string> titles;
  for (const PanelImage& image : one.images) titles.push_back(image.title);
  return titles;
}

TEST(DiffusionTask, ShowsTheFirstFewOfTheImagesThatItInvents) {
  DiffusionTask task = make_task(small_denoiser());
  stir(task);
  const auto shown = shown_of(task, batch_of(0, 6)).shown;
  ASSERT_EQ(shown.size(), 4U);
  EXPECT_EQ(shown[1].first, "samples");
  EXPECT_EQ(shown[1].second.name, "sample 2") << "of no patient";
  EXPECT_THAT(titles_of(shown[1].second), ::testing::ElementsAre("invented"));
  const PanelPlane& sagittal = shown[1].second.images[0].planes[0];
  EXPECT_EQ(sagittal.columns, 16);
  EXPECT_EQ(shown[1].second.images[0].planes[2].column_width, 2) << "voxels of training are 2 mm wide";
  EXPECT_NE(sagittal.values, shown[2].second.images[0].planes[0].values);
  EXPECT_EQ(sagittal.values, shown_of(task, batch_of(0, 6)).shown[1].second.images[0].planes[0].values)
      << "the draws are those of the example at every validation";
}

TEST(DiffusionTask, ShowsTwoImagesOfFewStepsWhileItTrainsAndGivesNoFigureOfThem) {
  DiffusionConfig config = small_denoiser();
  config.sampling.num_inference_steps = 25;
  DiffusionTask task = make_task(config);
  stir(task);
  auto metrics = shown_of(task, batch_of(0, 6), ValidationDepth::quick);
  ASSERT_EQ(metrics.shown.size(), 2U);
  EXPECT_EQ(metrics.shown[1].second.name, "sample 2");
  NotedMetrics training;
  training.reference = true;
  training.wanted_depth = ValidationDepth::quick;
  task.validate(batch_of(6, 3), training);
  task.summarize(metrics.cases, training.cases, metrics);
  EXPECT_TRUE(metrics.figures.empty());
  config.sampling.num_inference_steps = 20;
  DiffusionTask of_twenty = make_task(config);
  stir(of_twenty);
  const auto values_of = [](const NotedMetrics& shown) {
    return shown.shown[0].second.images[0].planes[0].values;
  };
  EXPECT_EQ(values_of(metrics), values_of(shown_of(of_twenty, batch_of(0, 6)))) << "of so many steps at most";
}

TEST(DiffusionTask, SamplesNothingWhileItTrainsWhereNoPictureIsWanted) {
  DiffusionTask task = make_task(small_denoiser());
  NotedMetrics metrics;
  metrics.wanted_depth = ValidationDepth::quick;
  const Batch batch = batch_of(0, 2);
  const DrawScope scope = scope_of(batch);
  task.validate(batch, metrics);
  EXPECT_TRUE(metrics.shown.empty());
  EXPECT_TRUE(metrics.cases.empty());
}

TEST(DiffusionTask, ShowsBesideAnInventedImageTheNearestOneOfTraining) {
  DiffusionTask task = make_task(small_denoiser());
  stir(task);
  auto metrics = shown_of(task, batch_of(0, 2));
  const Batch trained = batch_of(6, 3);
  NotedMetrics training;
  training.reference = true;
  {
    const DrawScope scope = scope_of(trained);
    task.validate(trained, training);
  }
  std::map<std::string, float> corners;
  for (int64_t row = 0; row < 3; ++row) {
    const auto name = "patient " + std::to_string(row);
    const at::Tensor image = trained.at("image")[row];
    metrics.training[trained.keys[static_cast<size_t>(row)].example] = {
        name, {{"image", image}}, identity_affine()};
    corners[name] = image[0][15][15][8].item<float>();
  }
  task.summarize(metrics.cases, training.cases, metrics);
  for (const auto& [name, one] : metrics.shown) {
    ASSERT_EQ(one.images.size(), 2U);
    const std::string& title = one.images[1].title;  // "nearest: patient 1 (0.87)"
    const std::string patient = title.substr(9, 9);
    ASSERT_TRUE(corners.contains(patient)) << title;
    EXPECT_EQ(one.images[1].planes[2].values.front(), corners.at(patient)) << "right and anterior";
  }
}

TEST(DiffusionTask, ShowsTranslationsBesideTheirInputAndTheTruth) {
  DiffusionTask task = make_task(small_denoiser(DiffusionConfig::Condition::concat));
  const Batch batch = batch_of(0, 2);
  const auto shown = shown_of(task, batch).shown;
  ASSERT_EQ(shown.size(), 2U);
  const auto& [name, one] = shown[1];
  EXPECT_EQ(name, "translations");
  ASSERT_THAT(titles_of(one), ::testing::ElementsAre("condition", "result", "target", "|difference|"));
  // The axial plane's first value: right and anterior.
  const auto axial = [&](std::size_t image) { return one.images[image].planes[2].values.front(); };
  EXPECT_EQ(axial(0), batch.at("image")[1][0][15][15][8].item<float>());
  EXPECT_EQ(axial(2), batch.at("label")[1][0][15][15][8].item<float>());
  EXPECT_FLOAT_EQ(axial(3), std::abs(axial(2) - axial(1)));
}

TEST(DiffusionTask, AnAutoencoderOfOtherLatentsIsRefused) {
  DiffusionConfig config = small_denoiser();
  config.network.in_channels = config.network.out_channels = 3;
  try {
    make_task(config);
    ADD_FAILURE() << "it fits";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::usage);
    EXPECT_THAT(error.hint(), HasSubstr("model.in_channels=2"));
  }
}

TEST(DiffusionConfig, RefusesWhatCannotBeSampled) {
  DiffusionConfig flow = small_denoiser();
  flow.noise.schedule = nn::NoiseScheduleOptions::Kind::rectified_flow;
  flow.prediction_type = nn::PredictionType::flow;
  EXPECT_THROW(flow.check(), Error) << "by ddim";
  flow.sampling.sampler = nn::SamplerOptions::Kind::euler;
  EXPECT_NO_THROW(flow.check());
  DiffusionConfig many = small_denoiser();
  many.sampling.num_inference_steps = 1001;
  EXPECT_THROW(many.check(), Error);
}

}  // namespace
}  // namespace larmor::latent_diffusion
