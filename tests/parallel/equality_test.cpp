// One rank, several ranks, and accumulation have to do what a plain loop over the whole batch does.
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

void expect_as_plain(Training training, double tolerance) {
  const at::Tensor plain = testing::train_plainly(training);
  for (const int ranks : {1, 2, 4}) {
    for (const int64_t accumulation : {1, 3}) {
      training.accumulation = accumulation;
      EXPECT_LE(testing::largest_difference(train_over_threads(training, ranks), plain), tolerance)
          << ranks << " ranks, accumulation " << accumulation;
    }
  }
}

TEST(Replicas, TrainAsAPlainLoopWithSgdInFloat) { expect_as_plain({.optim = testing::sgd()}, 1e-6); }

TEST(Replicas, TrainAsAPlainLoopWithAdamInDouble) {
  expect_as_plain({.optim = testing::adam(), .type = at::kDouble}, 1e-11);
}

TEST(Replicas, ClipAsAPlainLoop) {
  Training training{.optim = testing::adam(), .type = at::kDouble};
  training.optim.clip_norm = 0.05;
  const at::Tensor clipped = testing::train_plainly(training);
  training.optim.clip_norm = 0;
  EXPECT_GT(testing::largest_difference(clipped, testing::train_plainly(training)), 1e-4)
      << "a limit that never bites tests nothing";
  training.optim.clip_norm = 0.05;
  expect_as_plain(training, 1e-11);
}

TEST(Replicas, DoNotDependOnTheSizeOfBuckets) {
  Training training{.optim = testing::adam(), .type = at::kDouble};
  training.bucket_bytes = 1;
  const at::Tensor one_each = train_over_threads(training, 3);
  training.bucket_bytes = 1 << 30;
  EXPECT_TRUE(torch::equal(one_each, train_over_threads(training, 3)));
}

TEST(Replicas, HandleWeightsThatOnlySomeExamplesUse) {
  // In every third step one example of one rank reaches the rare weights; otherwise nobody does, and
  // they have to stand still although Adam's moments and momentum would move them.
  for (const OptimConfig& optim : {testing::adam(), testing::sgd()}) {
    expect_as_plain({.optim = optim, .type = at::kDouble, .rare_every = 3}, 1e-11);
  }
}

TEST(Replicas, WouldFailTheseTestsIfAShareWereMissing) {
  Training training{.optim = testing::sgd()};
  const at::Tensor plain = testing::train_plainly(training);
  training.global_batch -= 1;
  EXPECT_GT(testing::largest_difference(testing::train_plainly(training), plain), 1e-4);
}

TEST(Replicas, TrainAsAPlainLoopOverGloo) {
  const Training training{.optim = testing::adam(), .type = at::kDouble, .accumulation = 3};
  const at::Tensor plain = testing::train_plainly(training);
  for (const int ranks : {2, 4}) {
    testing::run_gloo_ranks(ranks, [&](Communicator& communicator) {
      const at::Tensor weights = testing::train_as_rank(training, communicator);
      EXPECT_LE(testing::largest_difference(weights, plain), 1e-11) << "rank " << communicator.rank();
    });
  }
}

}  // namespace
}  // namespace larmor
