// What replicas save, and what they go on with.
#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>

#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/nn.h>

#include "larmor/base/error.h"
#include "larmor/parallel/parallelism.h"

#include "tests/comm/support/rank_threads.h"
#include "tests/parallel/support/saved_values.h"
#include "tests/parallel/support/small_net.h"
#include "tests/parallel/support/training.h"

namespace larmor {
namespace {

using ::testing::HasSubstr;
using testing::plain_sgd;
using testing::small_plan;
using testing::SmallJudge;
using testing::SmallNet;
using testing::Values;

constexpr double state_rate = 0.01;

/// A module of one weight w, whose loss is w * x.
struct SingleState final : torch::nn::Module {
  SingleState() { w = register_parameter("w", torch::ones({1})); }
  at::Tensor w;
};

at::Tensor state_step_loss(SmallNet& net, int64_t step, int64_t rank) {
  at::set_num_threads(1);
  return net->forward(testing::make_batch(step * 7 + rank, 2, at::kFloat)).square().mean();
}

TEST(SavedState, IsWrittenByTheFirstRankOnly) {
  testing::run_thread_ranks(2, [](Communicator& communicator) {
    SmallNet net(1);
    const auto parallel = make_parallelism(small_plan(), testing::adam(), *net, communicator);
    parallel->backward(state_step_loss(net, 0, 0), true, {});
    parallel->finish();
    parallel->step(state_rate);
    Values saved;
    parallel->save(saved);
    EXPECT_EQ(saved.tensors.empty(), !communicator.is_first());
  });
}

TEST(SavedState, IsRefusedWhenItIsOfAnotherShape) {
  const auto solo = make_solo();
  torch::nn::Linear small(3, 2), large(3, 4);
  Values saved;
  const auto first = make_parallelism(small_plan(), testing::adam(), *small, *solo);
  first->backward(small->forward(torch::ones({1, 3})).sum(), true, {});
  first->finish();
  first->step(state_rate);
  first->save(saved);
  const auto second = make_parallelism(small_plan(), testing::adam(), *large, *solo);
  EXPECT_THROW(second->load(saved), Error);
}

TEST(Average, FollowsTheWeightsUnderTheirNames) {
  SingleState net;
  const auto solo = make_solo();
  OptimConfig optim = plain_sgd();
  EXPECT_FALSE(make_parallelism(small_plan(), optim, net, *solo)->has_average());
  optim.ema_decay = 0.75;
  const auto parallel = make_parallelism(small_plan(), optim, net, *solo);
  ASSERT_TRUE(parallel->has_average());
  parallel->backward((net.w * 4).sum(), true, {});
  parallel->finish();
  parallel->step(0.1);  // 1 - 0.4
  EXPECT_FLOAT_EQ(parallel->average().at("w").item<float>(), 0.75F * 1.0F + 0.25F * 0.6F);
}

}  // namespace
}  // namespace larmor
