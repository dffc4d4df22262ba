// Batch norm is the exception to what equality_test.cpp asks of every workload: its result depends on the
// micro-batch, so accumulation stays 1, and ranks have to count together.
#include <cmath>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"
#include "larmor/device/cpu_ability.h"

#include "tests/contract/trial_run.h"

namespace larmor::testing {
namespace {

/// Without the biases before norms: their gradient is nothing but rounding, which Adam makes large.
const std::vector<std::string> with_batch_norm{"model.norm=batch",        "model.bias_downsample=false",
                                               "train.validate_every=0",  "train.global_batch=12",
                                               "optim.clip_norm=0",       "optim.weight_decay=0",
                                               "optim.schedule.warmup=0", "optim.schedule.name=constant"};
/// Few small steps: sooner or later rounding decides a tie in a ReLU, and float32 leaves the path that
/// float64 and other ranks take, by as much as a step moves weights.
const std::vector<std::string> three_of_sgd{"train.length=3st", "optim.name=sgd",
                                            "optim.learning_rate=0.00001", "model.no_max_pool=true",
                                            "model.conv1_t_stride=[1]"};
const std::vector<std::string> adam_in_fp64{"train.length=10st", "optim.name=adam",
                                            "optim.learning_rate=0.001", "train.precision=fp64"};

/// Weights and running statistics of the survival network.
NamedTensors survival_network(const std::vector<std::string>& optimizer, int ranks,
                              const std::vector<std::string>& more = {}) {
  std::vector<std::string> words = with_batch_norm;
  words.insert(words.end(), optimizer.begin(), optimizer.end());
  words.insert(words.end(), more.begin(), more.end());
  TrialRun run("survival", words);
  run.train(ranks);
  auto tensors = run.tensors("model.safetensors");
  tensors.erase("fc.bias");  // what it adds to all risks alike is no matter to Cox's loss: rounding again
  return tensors;
}

TEST(BatchNormOverRanks, GivesOneRanksNetworkInFloat32) {
  const auto one = rounded(
      {}, [](const std::vector<std::string>& more) { return survival_network(three_of_sgd, 1, more); });
  for (const int ranks : {2, 4})
    expect_but_for_rounding(survival_network(three_of_sgd, ranks), one, text(ranks, " ranks"));
}

TEST(BatchNormOverRanks, GivesOneRanksNetworkInFloat64AndWhenComputedAgain) {
  const auto one = survival_network(adam_in_fp64, 1);
  for (const int ranks : {2, 4}) {
    for (const char* recomputed : {"none", "blocks", "all"}) {
      const auto network =
          survival_network(adam_in_fp64, ranks, {text("train.activation_checkpointing=", recomputed)});
      EXPECT_LE(largest_difference(network, one), 1e-11) << ranks << " ranks, " << recomputed;
    }
  }
}

TEST(BatchNormOverRanks, IsWhatMakesThemEqual) {
  const auto one = survival_network(three_of_sgd, 1);
  const auto apart = survival_network(three_of_sgd, 2, {"parallel.sync_batchnorm=false"});
  EXPECT_GT(largest_difference(apart, one), 1e-3);
}

/// Twelve steps in mixed precision with two validations, on small images, since a CPU takes its time over
/// float16: the loss scale finds its size within the first ten.
class MixedPrecision : public ::testing::TestWithParam<std::tuple<std::string, std::string>> {
 protected:
  void SetUp() override {
    if (std::get<1>(GetParam()) == "bf16" && !one_dnn_computes(c10::kBFloat16))
      GTEST_SKIP() << "this CPU does not compute in bf16";
  }
  static std::vector<std::string> words(const std::string& strategy, const std::string& precision) {
    return {"model.norm=batch",
            "data.cohort_size=[12, 12, 12]",
            "train.length=12st",
            "train.validate_every=6st",
            "train.global_batch=8",
            "loss.baseline_cases=4",
            "optim.name=sgd",
            "optim.learning_rate=0.01",
            "optim.schedule.warmup=0",
            "parallel.strategy=" + strategy,
            "train.precision=" + precision};
  }
  /// Networks after training; the validations have to have come.
  static NamedTensors trained(const std::vector<std::string>& words, int ranks) {
    TrialRun run("survival", words);
    const auto end = run.train(ranks);
    EXPECT_TRUE(end.training.state.best_metric) << "no validation";
    EXPECT_EQ(end.training.state.progress.step, 12);
    return run.tensors("model.safetensors");
  }
};

/// Over all values of the network.
double distance(const NamedTensors& a, const NamedTensors& b) {
  double squares = 0;
  for (const auto& [name, tensor] : a)
    squares += (tensor.to(at::kDouble) - b.at(name).to(at::kDouble)).square().sum().item<double>();
  return std::sqrt(squares);
}

/// Both round; shards may do so a little more, since their gradients travel as narrow as they are. In fp16,
/// of eleven digits, both have moved little and nearly alike.
TEST_P(MixedPrecision, TrainsAndValidatesABatchNormInShardsAsInReplicas) {
  const auto& [strategy, precision] = GetParam();
  static const auto exact = trained(words("ddp", "fp32"), 2);
  const auto replicas = trained(words("ddp", precision), 2);
  const auto shards = trained(words(strategy, precision), 2);
  EXPECT_GT(distance(replicas, exact), 0);
  const double rounding = distance(replicas, exact);
  EXPECT_LE(distance(shards, exact), 2 * rounding);
  EXPECT_LE(distance(shards, replicas), precision == "fp16" ? 0.02 : 2 * rounding);
  for (const auto& [name, tensor] : shards) {
    if (tensor.is_floating_point()) {
      EXPECT_EQ(tensor.scalar_type(), at::kFloat) << name;
    }
  }
}

TEST_P(MixedPrecision, TrainsABatchNormOfOneRankAlone) {
  const auto& [strategy, precision] = GetParam();
  auto alone = words(strategy, precision);
  alone.emplace_back("parallel.sync_batchnorm=false");
  trained(alone, 1);
  trained(alone, 2);
}

INSTANTIATE_TEST_SUITE_P(OfShards, MixedPrecision,
                         ::testing::Combine(::testing::Values("zero1", "zero2", "zero3"),
                                            ::testing::Values("bf16", "fp16")),
                         [](const auto& of) { return std::get<0>(of.param) + "_" + std::get<1>(of.param); });

}  // namespace
}  // namespace larmor::testing
