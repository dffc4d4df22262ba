// The task against loops written by hand: what its gradient is, what freezing leaves alone, and what it says
// of an image.
#include "workloads/survival/risk/survival_task.h"

#include <cmath>
#include <numeric>
#include <thread>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/module.h>

#include "larmor/checkpoint/state_parts.h"
#include "larmor/comm/communicator.h"
#include "larmor/kernels/draw/draw.h"
#include "larmor/task/prediction.h"
#include "larmor/train/step/whole_batch.h"

namespace larmor::survival {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t patients = 8;

SurvivalConfig small_config() {
  SurvivalConfig config;
  config.network.depth = 10;
  config.network.widen_factor = 0.125;
  config.network.norm = nn::ResNetNorm::group;
  config.network.conv1_t_size = {3};
  return config;
}

const Covariates no_covariates({}, {});

/// Followed for 1 to 3 years, six of eight with the event, two of them on one day.
const SurvivalOutcomes followed_up{.time = {400, 500, 500, 620, 700, 800, 900, 1100},
                                   .event = {1, 1, 1, 0, 1, 1, 1, 0}};

Batch batch_of(int64_t first, int64_t count, at::ScalarType type) {
  Batch batch;
  batch.tensors["image"] = draw_normal(3, "image", {patients, 1, 8, 8, 8}).to(type).narrow(0, first, count);
  const std::vector<double> event(followed_up.event.begin(), followed_up.event.end());
  batch.tensors["time"] = at::tensor(followed_up.time, at::kDouble).narrow(0, first, count);
  batch.tensors["event"] = at::tensor(event, at::kDouble).narrow(0, first, count);
  for (int64_t i = first; i < first + count; ++i) batch.keys.push_back({.seed = 3, .epoch = 0, .example = i});
  return batch;
}

StepContext silent_context(int64_t epoch = 0) {
  StepContext context;
  context.epoch = epoch;
  context.record = [](const std::string&, const at::Tensor&) {};
  return context;
}

torch::nn::Module& network_of(SurvivalTask& task, at::ScalarType type) {
  auto& network = *task.objectives().front().network;
  network.to(type);
  network.train();
  return network;
}

/// All gradients behind each other.
at::Tensor gradient_of(const torch::nn::Module& network) {
  std::vector<at::Tensor> parts;
  for (const auto& parameter : network.parameters()) parts.push_back(parameter.grad().flatten());
  return at::cat(parts);
}

/// One pass over all patients and the loss's own backward.
at::Tensor plain_gradient(at::ScalarType type) {
  SurvivalTask task(small_config(), followed_up, no_covariates, 5);
  auto& network = network_of(task, type);
  auto& rows = *task.whole_batch_loss();
  const auto batch = batch_of(0, patients, type);
  const std::vector<double> event(followed_up.event.begin(), followed_up.event.end());
  cox_loss(rows.rows(batch, silent_context()), at::tensor(followed_up.time, at::kDouble),
           at::tensor(event, at::kDouble))
      .backward();
  return gradient_of(network);
}

at::Tensor divided_gradient(Communicator& communicator, int64_t accumulation, at::ScalarType type) {
  SurvivalTask task(small_config(), followed_up, no_covariates, 5);
  auto& network = network_of(task, type);
  const auto precision = type == at::kDouble ? Precision::fp64 : Precision::fp32;
  WholeBatch whole(*task.whole_batch_loss(), network,
                   {.accumulation = accumulation, .pass = {.precision = precision}});
  const int64_t each = patients / communicator.size() / accumulation;
  for (int64_t micro = 0; micro < accumulation; ++micro) {
    const int64_t first = (communicator.rank() * accumulation + micro) * each;
    whole.forward(batch_of(first, each, type), silent_context());
  }
  EXPECT_TRUE(whole.gather(true, silent_context(), communicator, communicator));
  for (int64_t micro = 0; micro < accumulation; ++micro) whole.share_of(micro, silent_context()).backward();
  auto gradient = gradient_of(network);
  communicator.all_reduce(gradient, Reduce::mean).wait();  // as data parallelism does
  return gradient;
}

at::Tensor divided_gradient(int ranks, int64_t accumulation, at::ScalarType type) {
  auto communicators = make_thread_ranks(ranks);
  std::vector<at::Tensor> gradients(communicators.size());
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < communicators.size(); ++rank)
    threads.emplace_back(
        [&, rank] { gradients[rank] = divided_gradient(*communicators[rank], accumulation, type); });
  for (auto& thread : threads) thread.join();
  return gradients.front();
}

double relative_error(const at::Tensor& value, const at::Tensor& expected) {
  return ((value - expected).norm() / expected.norm()).item<double>();
}

TEST(SurvivalTask, HasTheWholeBatchsGradientHoweverItIsDivided) {
  for (const auto& [type, most] : {std::pair{at::kDouble, 1e-10}, {at::kFloat, 1e-5}}) {
    const auto expected = plain_gradient(type);
    ASSERT_GT(expected.norm().item<double>(), 0);
    for (const int ranks : {1, 2, 4}) {
      for (const int64_t accumulation : {1, 2, 4}) {
        if (ranks * accumulation > patients) continue;
        EXPECT_LE(relative_error(divided_gradient(ranks, accumulation, type), expected), most)
            << ranks << " ranks, accumulation " << accumulation;
      }
    }
  }
}

TEST(SurvivalTask, TeachesTheLastLayerAloneWhileTheRestIsFrozen) {
  auto config = small_config();
  config.freeze_epochs = 2;
  for (const int64_t epoch : {1, 2}) {
    SurvivalTask task(config, followed_up, no_covariates, 5);
    auto& network = network_of(task, at::kFloat);
    const auto solo = make_solo();
    WholeBatch whole(*task.whole_batch_loss(), network, {});
    whole.forward(batch_of(0, patients, at::kFloat), silent_context(epoch));
    ASSERT_TRUE(whole.gather(true, silent_context(epoch), *solo, *solo));
    whole.share_of(0, silent_context(epoch)).backward();
    for (const auto& parameter : network.named_parameters()) {
      const bool learns = epoch >= 2 || parameter.key().starts_with("fc.");
      EXPECT_EQ(parameter.value().grad().defined(), learns) << parameter.key() << ", epoch " << epoch;
    }
  }
}

/// The reference risks 0 to 7, in the order of the patients.
PartReader reference_state() {
  SurvivalTask task(small_config(), followed_up, no_covariates, 5);
  CaseValues reference;
  for (int64_t i = 0; i < patients; ++i) {
    const auto place = static_cast<std::size_t>(i);
    reference["risk"].emplace_back(i, static_cast<double>(i));
    reference["time"].emplace_back(i, followed_up.time[place]);
    reference["event"].emplace_back(i, followed_up.event[place]);
  }
  class Ignored final : public Metrics {
   public:
    void value(const std::string&, int64_t, double) override {}
    void note(const std::string&, int64_t, double) override {}
    void figure(const std::string&, const SplitMetric&) override {}
    void picture(const std::string&, const Image&) override {}
    bool wants_pictures() const override { return false; }
    ValidationDepth depth() const override { return ValidationDepth::quick; }
  } ignored;
  task.summarize(reference, reference, ignored);
  PartWriter writer;
  task.save(writer);
  return PartReader(writer.tensors, writer.values, "a test");
}

/// Of an image.
std::vector<std::string> names_said_by(SurvivalTask& task) {
  const at::NoGradGuard no_grad;
  task.objectives().front().network->eval();
  std::vector<std::string> names;
  for (const auto& [name, value] : task.predict(batch_of(2, 1, at::kFloat), {}).numbers)
    names.push_back(name);
  return names;
}

TEST(SurvivalTask, SaysOnlyTheRiskBeforeItHasSeenReferenceCases) {
  SurvivalTask task(small_config(), followed_up, no_covariates, 5);
  EXPECT_THAT(names_said_by(task), ElementsAre("risk"));
  EXPECT_THAT(task.missing_values(), HasSubstr("only the risk is given"));
}

TEST(SurvivalTask, RanksAnImageAmongTheReferenceCasesThatACheckpointKeeps) {
  SurvivalTask task(small_config(), followed_up, no_covariates, 5);
  task.load(reference_state(), /*of_average=*/false);
  EXPECT_THAT(names_said_by(task), ElementsAre("risk", "percentile", "survival_2y", "survival_3y"));
  EXPECT_EQ(task.missing_values(), "");
  const at::NoGradGuard no_grad;
  task.objectives().front().network->eval();
  const auto said = task.predict(batch_of(2, 1, at::kFloat), {}).numbers;
  const double risk = said[0].second;
  double below = 0;
  for (int i = 0; i < patients; ++i) below += i < risk ? 1 : 0;
  EXPECT_DOUBLE_EQ(said[1].second, 100 * below / patients);
  std::vector<double> risks(patients);
  std::iota(risks.begin(), risks.end(), 0);
  const auto hazard = breslow_baseline(risks, followed_up);
  EXPECT_DOUBLE_EQ(said[2].second, std::exp(-hazard.at(2 * 365.25) * std::exp(risk)));
}

/// What a step begins with: the network learns from a batch.
void learn_once(SurvivalTask& task) {
  auto& network = network_of(task, at::kFloat);
  const auto solo = make_solo();
  WholeBatch whole(*task.whole_batch_loss(), network, {});
  whole.forward(batch_of(0, patients, at::kFloat), silent_context());
  ASSERT_TRUE(whole.gather(true, silent_context(), *solo, *solo));
}

TEST(SurvivalTask, KeepsNoReferenceOfWeightsThatHaveLearnedSince) {
  SurvivalTask task(small_config(), followed_up, no_covariates, 5);
  task.load(reference_state(), /*of_average=*/false);
  learn_once(task);
  EXPECT_THAT(names_said_by(task), ElementsAre("risk"));
  PartWriter writer;
  task.save(writer);
  EXPECT_TRUE(writer.tensors.empty());
}

TEST(SurvivalTask, TakesNoReferenceThatMayBeOfOtherWeights) {
  const auto known = reference_state();
  SurvivalTask task(small_config(), followed_up, no_covariates, 5);
  task.load(known, /*of_average=*/false);
  task.load(known, /*of_average=*/true);
  EXPECT_FALSE(task.missing_values().empty()) << "risks of other weights";
  task.load(known, /*of_average=*/false);
  task.load(PartReader({{"reference", known.tensor("reference")}}, Json::object(), "an older larmor's"),
            /*of_average=*/false);
  EXPECT_THAT(names_said_by(task), ElementsAre("risk"));
  EXPECT_THAT(task.missing_values(), HasSubstr("these very weights"));
}

/// Events a second apart, twenty years after the beginning: who has the first one is compared with both.
TEST(SurvivalTask, TellsTimesApartThatFloat32WouldMakeOne) {
  SurvivalTask task(small_config(), followed_up, no_covariates, 5);
  const auto loss_of = [&](double first, double second) {
    auto& network = network_of(task, at::kFloat);
    auto batch = batch_of(0, 2, at::kFloat);
    batch.tensors["time"] = at::tensor({first, second}, at::kDouble);
    batch.tensors["event"] = at::ones({2}, at::kDouble);
    WholeBatch whole(*task.whole_batch_loss(), network, {});
    whole.forward(std::move(batch), silent_context());
    const auto solo = make_solo();
    EXPECT_TRUE(whole.gather(true, silent_context(), *solo, *solo));
    return whole.loss().item<double>();
  };
  const double apart = loss_of(1, 2), late = loss_of(631152000, 631152001);
  EXPECT_EQ(late, apart);
  EXPECT_NE(apart, loss_of(1, 1));
}

}  // namespace
}  // namespace larmor::survival
