// One rank, several ranks, accumulation, recomputation and every strategy have to do what a plain loop over
// the whole batch does.
#include <gtest/gtest.h>
#include <torch/types.h>

#include "tests/comm/support/rank_threads.h"
#include "tests/parallel/support/small_net.h"
#include "tests/parallel/support/training.h"

namespace larmor {
namespace {

using testing::Training;

/// The weights after training, which have to be the same on all ranks to the bit.
at::Tensor train_over_threads(const Training& training, int ranks) {
  std::vector<at::Tensor> weights(static_cast<size_t>(ranks));
  testing::run_thread_ranks(ranks, [&](Communicator& communicator) {
    weights[static_cast<size_t>(communicator.rank())] = testing::train_as_rank(training, communicator);
  });
  for (const at::Tensor& other : weights) EXPECT_TRUE(torch::equal(other, weights[0]));
  return weights[0];
}

std::string describe(const Training& training, int ranks) {
  return to_text(training.strategy) + ", " + std::to_string(ranks) + " ranks, accumulation " +
         std::to_string(training.accumulation) + ", recomputes " + to_text(training.recompute) +
         (training.exchange_every_micro_batch ? ", meets at every micro-batch" : "");
}

void expect_as_plain(Training training, double tolerance) {
  const at::Tensor plain = testing::train_plainly(training);
  for (const int ranks : {1, 2, 4}) {
    for (const int64_t accumulation : {1, 3}) {
      training.accumulation = accumulation;
      EXPECT_LE(testing::largest_difference(train_over_threads(training, ranks), plain), tolerance)
          << describe(training, ranks);
    }
  }
}

class EveryStrategy : public ::testing::TestWithParam<std::tuple<Strategy, Recompute>> {
 protected:
  Training with(const OptimConfig& optim, at::ScalarType type) const {
    return {.optim = optim,
            .type = type,
            .strategy = std::get<Strategy>(GetParam()),
            .recompute = std::get<Recompute>(GetParam())};
  }
};

INSTANTIATE_TEST_SUITE_P(
    Trains, EveryStrategy,
    ::testing::Combine(::testing::Values(Strategy::ddp, Strategy::zero1, Strategy::zero2, Strategy::zero3),
                       ::testing::Values(Recompute::none, Recompute::blocks, Recompute::all)),
    [](const auto& of) {
      return to_text(std::get<Strategy>(of.param)) + "_recomputing_" + to_text(std::get<Recompute>(of.param));
    });

TEST_P(EveryStrategy, TrainsAsAPlainLoopWithSgdInFloat) {
  expect_as_plain(with(testing::sgd(), at::kFloat), 1e-6);
}

TEST_P(EveryStrategy, TrainsAsAPlainLoopWithAdamInDouble) {
  expect_as_plain(with(testing::adam(), at::kDouble), 1e-11);
}

class AStrategy : public ::testing::TestWithParam<Strategy> {
 protected:
  static Training with(const OptimConfig& optim) {
    return {.optim = optim, .type = at::kDouble, .strategy = GetParam()};
  }
};

INSTANTIATE_TEST_SUITE_P(Trains, AStrategy,
                         ::testing::Values(Strategy::ddp, Strategy::zero1, Strategy::zero2, Strategy::zero3),
                         [](const auto& of) { return to_text(of.param); });

TEST_P(AStrategy, ClipsAsAPlainLoop) {
  Training training = with(testing::adam());
  training.optim.clip_norm = 0.05;
  const at::Tensor clipped = testing::train_plainly(training);
  training.optim.clip_norm = 0;
  EXPECT_GT(testing::largest_difference(clipped, testing::train_plainly(training)), 1e-4)
      << "a limit that never bites tests nothing";
  training.optim.clip_norm = 0.05;
  expect_as_plain(training, 1e-11);
}

/// Two groups whose parameters take turns, so that buckets and shards hold both.
TEST_P(AStrategy, MovesGroupsOfParametersAsAPlainLoop) {
  for (const auto& [optim, type, tolerance] :
       {std::tuple(testing::sgd(), at::kFloat, 1e-6), std::tuple(testing::adam(), at::kDouble, 1e-11)}) {
    Training training{.optim = optim, .type = type, .strategy = GetParam()};
    training.optim.weight_decay = 0.01;
    const at::Tensor alike = testing::train_plainly(training);
    training.rules = {{.prefix = "second", .rate = 0.1, .weight_decay = 0},
                      {.prefix = "attention.", .rate = 3}};
    EXPECT_GT(testing::largest_difference(alike, testing::train_plainly(training)), 1e-4)
        << "rules that change nothing test nothing";
    expect_as_plain(training, tolerance);
  }
}

TEST_P(AStrategy, MayLetGradientsMeetAtEveryMicroBatch) {
  Training training = with(testing::adam());
  training.exchange_every_micro_batch = true;
  expect_as_plain(training, 1e-11);
}

TEST_P(AStrategy, DoesNotDependOnTheSizeOfBuckets) {
  Training training = with(testing::adam());
  training.bucket_bytes = 1;
  const at::Tensor one_each = train_over_threads(training, 3);
  training.bucket_bytes = 1 << 30;
  EXPECT_LE(testing::largest_difference(one_each, train_over_threads(training, 3)), 1e-14);
}

// Some of which are those of weights that the loss does not reach.
TEST(ComputedGradients, TrainAsTheirLossDoesToTheBit) {
  for (const Strategy strategy : {Strategy::ddp, Strategy::zero1, Strategy::zero2}) {
    for (const int64_t accumulation : {1, 3}) {
      Training training{
          .optim = testing::adam(), .accumulation = accumulation, .rare_every = 2, .strategy = strategy};
      const at::Tensor by_loss = train_over_threads(training, 2);
      training.hands_over_gradients = true;
      EXPECT_TRUE(torch::equal(by_loss, train_over_threads(training, 2))) << describe(training, 2);
    }
  }
}

TEST(Shards, MayHaveTheOptimizerOnTheHost) {
  for (const Strategy strategy : {Strategy::zero1, Strategy::zero2, Strategy::zero3}) {
    expect_as_plain({.optim = testing::adam(), .type = at::kDouble, .strategy = strategy, .offload = true},
                    1e-11);
  }
}

TEST(WholeWeights, ThatOnlySomeExamplesUseStandStillOtherwise) {
  // In every third step one example of one rank reaches the rare weights; otherwise nobody does, and
  // they have to stand still although Adam's moments and momentum would move them.
  for (const Strategy strategy : {Strategy::ddp, Strategy::zero1, Strategy::zero2}) {
    for (const OptimConfig& optim : {testing::adam(), testing::sgd()}) {
      expect_as_plain({.optim = optim, .type = at::kDouble, .rare_every = 3, .strategy = strategy}, 1e-11);
    }
  }
}

/// As a share of how far training has moved the weights.
double deviation(const at::Tensor& weights, const at::Tensor& expected, const at::Tensor& start) {
  return ((weights - expected).norm() / (expected - start).norm()).item<double>();
}

/// Rounding errs by at most half a unit of the last of eight or eleven digits, once before gradients meet and
/// once after.
TEST(CompressedGradients, TrainAsAPlainLoopButForTheirRounding) {
  Training training{.optim = testing::plain_sgd()};
  const at::Tensor plain = testing::train_plainly(training);
  training.type = at::kDouble;
  const at::Tensor exact = testing::train_plainly(training);
  training.type = at::kFloat;
  const at::Tensor start = testing::flat_parameters(*testing::SmallNet(1));
  ASSERT_GT((plain - start).norm().item<double>(), 0.01) << "nothing has moved: the test tests nothing";
  for (const int ranks : {2, 4}) {
    for (const auto& [compression, unit] :
         {std::pair(Compression::bf16, 0x1p-8), std::pair(Compression::fp16, 0x1p-11)}) {
      training.compression = compression;
      const double away = deviation(train_over_threads(training, ranks), plain, start);
      EXPECT_LT(away, 2 * unit) << to_text(compression) << ", " << ranks << " ranks";
      EXPECT_GT(away, unit / 32) << to_text(compression) << " travels with more digits than it has";
    }
    training.compression = Compression::none;
    testing::expect_but_for_rounding(train_over_threads(training, ranks), plain, exact);
  }
}

TEST(PlainLoop, WouldShowAMissingShare) {
  Training training{.optim = testing::sgd()};
  const at::Tensor plain = testing::train_plainly(training);
  training.global_batch -= 1;
  EXPECT_GT(testing::largest_difference(testing::train_plainly(training), plain), 1e-4);
}

TEST(Gloo, TrainsAsAPlainLoopByEveryStrategy) {
  Training training{.optim = testing::adam(), .type = at::kDouble, .accumulation = 3};
  const at::Tensor plain = testing::train_plainly(training);
  for (const int ranks : {2, 4}) {
    for (const Strategy strategy : {Strategy::ddp, Strategy::zero1, Strategy::zero2, Strategy::zero3}) {
      training.strategy = strategy;
      testing::run_gloo_ranks(ranks, [&](Communicator& communicator) {
        const at::Tensor weights = testing::train_as_rank(training, communicator);
        EXPECT_LE(testing::largest_difference(weights, plain), 1e-11)
            << describe(training, ranks) << ", rank " << communicator.rank();
      });
    }
  }
}

}  // namespace
}  // namespace larmor
