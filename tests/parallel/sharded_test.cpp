// What only cut optimizers, gradients and weights can get wrong.
#include <limits>

#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn.h>

#include "larmor/base/error.h"
#include "larmor/device/autocast.h"
#include "larmor/device/run_block.h"
#include "larmor/device/tensors/tensor_file.h"
#include "larmor/parallel/parallelism.h"

#include "tests/comm/support/rank_threads.h"
#include "tests/parallel/support/small_net.h"
#include "tests/parallel/support/training.h"

namespace larmor {
namespace {

using testing::flat_parameters;
using ::testing::HasSubstr;
using testing::plain_sgd;
using testing::small_plan;
using testing::SmallJudge;
using testing::SmallNet;

constexpr double sharded_rate = 0.01;

at::Tensor whole_parameters(Parallelism& parallel, const torch::nn::Module& net) {
  const WholeNetwork whole(parallel);
  return flat_parameters(net).clone();
}

class EveryShare : public ::testing::TestWithParam<Strategy> {};
INSTANTIATE_TEST_SUITE_P(By, EveryShare,
                         ::testing::Values(Strategy::ddp, Strategy::zero1, Strategy::zero2, Strategy::zero3),
                         [](const auto& of) { return to_text(of.param); });

/// A generator and its discriminator, which is called three times: frozen for the generator's loss, and
/// twice for its own. Both losses are taken before either network moves.
struct Pair {
  explicit Pair(at::ScalarType type) : maker(1, type), judge(2, type) {}
  SmallNet maker;
  SmallJudge judge;
  struct Losses {
    at::Tensor maker, judge;
  };
  Losses losses(const at::Tensor& batch) {
    const at::Tensor made = maker->forward(batch);
    for (at::Tensor& parameter : judge->parameters()) parameter.set_requires_grad(false);
    const at::Tensor fooled = (judge->forward(made) - 1).square().mean();
    for (at::Tensor& parameter : judge->parameters()) parameter.set_requires_grad(true);
    const at::Tensor judged =
        judge->forward(made.detach()).square().mean() + (judge->forward(batch) - 1).square().mean();
    return {(made - batch).square().mean() + 0.1 * fooled, judged};
  }
};

at::Tensor train_pair(Strategy strategy, Recompute recompute, at::ScalarType type,
                      Communicator& communicator) {
  at::set_num_threads(1);
  Pair pair(type);
  const Plan plan = small_plan(strategy, type == at::kDouble ? Precision::fp64 : Precision::fp32);
  const auto first = make_parallelism(plan, plain_sgd(), *pair.maker, communicator, pair.maker->blocks());
  const auto second = make_parallelism(plan, plain_sgd(), *pair.judge, communicator, pair.judge->blocks());
  const int64_t share = 4 / communicator.size();
  for (int step = 0; step < 5; ++step) {
    const at::Tensor batch = testing::make_batch(step, 4, type).narrow(0, communicator.rank() * share, share);
    Pair::Losses losses;
    {
      const RecomputeScope scope(recompute);
      losses = pair.losses(batch);
    }
    first->backward(losses.maker, true, {});
    for (const at::Tensor& parameter : pair.judge->parameters())
      EXPECT_FALSE(parameter.grad().defined()) << "the generator's loss has taught the discriminator";
    second->backward(losses.judge, true, {});
    first->finish();
    second->finish();
    first->step(sharded_rate);
    second->step(sharded_rate);
  }
  return torch::cat({whole_parameters(*first, *pair.maker), whole_parameters(*second, *pair.judge)});
}

at::Tensor train_pair_plainly(at::ScalarType type) {
  at::set_num_threads(1);
  Pair pair(type);
  for (int step = 0; step < 5; ++step) {
    const auto losses = pair.losses(testing::make_batch(step, 4, type));
    losses.maker.backward();
    losses.judge.backward();
    const torch::NoGradGuard no_grad;
    for (auto* const module : {static_cast<torch::nn::Module*>(pair.maker.get()),
                               static_cast<torch::nn::Module*>(pair.judge.get())}) {
      for (at::Tensor& parameter : module->parameters()) {
        if (parameter.grad().defined()) parameter.sub_(parameter.grad() * sharded_rate);
        parameter.mutable_grad() = at::Tensor();
      }
    }
  }
  return torch::cat({flat_parameters(*pair.maker), flat_parameters(*pair.judge)});
}

TEST_P(EveryShare, TrainsTwoObjectivesFromOnePass) {
  for (const auto& [type, tolerance] : {std::pair(at::kFloat, 1e-6), std::pair(at::kDouble, 1e-11)}) {
    const at::Tensor expected = train_pair_plainly(type);
    for (const Recompute recompute : {Recompute::none, Recompute::blocks}) {
      for (const int ranks : {1, 2, 4}) {
        testing::run_thread_ranks(ranks, [&, type = type, limit = tolerance](Communicator& communicator) {
          EXPECT_LT(
              testing::largest_difference(train_pair(GetParam(), recompute, type, communicator), expected),
              limit)
              << ranks << " ranks, recomputes " << to_text(recompute);
        });
      }
    }
  }
}

/// The weights after a few steps in mixed precision, of all parameters one after the other.
at::Tensor train_mixed(Strategy strategy, Precision precision, int ranks) {
  at::Tensor weights;
  testing::run_thread_ranks(ranks, [&](Communicator& communicator) {
    at::set_num_threads(1);
    SmallNet net(1);
    const auto parallel =
        make_parallelism(small_plan(strategy, precision), testing::sgd(), *net, communicator, net->blocks());
    const int64_t share = 4 / ranks;
    for (int step = 0, moved = 0; moved < 8; ++step) {
      const at::Tensor batch =
          testing::make_batch(moved, 4, at::kFloat).narrow(0, communicator.rank() * share, share);
      at::Tensor loss;
      {
        const AutocastScope autocast(c10::kCPU, precision);
        loss = (net->forward(batch) - batch.flip(2)).to(at::kFloat).square().mean();
      }
      parallel->backward(loss, true, {});
      const bool finite = parallel->finish().finite;
      finite ? parallel->step(sharded_rate) : parallel->skip();
      moved += finite ? 1 : 0;
      ASSERT_LT(step, 16) << "the loss scale does not find its size";
    }
    const NamedTensors all = parallel->weights();
    if (!communicator.is_first()) return;
    std::vector<at::Tensor> flat;
    for (const auto& [name, tensor] : all) {
      EXPECT_EQ(tensor.scalar_type(), at::kFloat) << name << " is no master weight";
      flat.push_back(tensor.reshape({-1}));
    }
    weights = torch::cat(flat).clone();
  });
  return weights;
}

TEST_P(EveryShare, TrainsInMixedPrecisionAsCloselyAsReplicasDo) {
  const at::Tensor exact = train_mixed(Strategy::ddp, Precision::fp32, 1);
  for (const Precision precision : {Precision::bf16, Precision::fp16}) {
    const double of_replicas = (train_mixed(Strategy::ddp, precision, 1) - exact).norm().item<double>();
    EXPECT_LT((train_mixed(GetParam(), precision, 2) - exact).norm().item<double>(), 2 * of_replicas)
        << to_text(precision);
  }
}

/// Its loss teaches all weights of a column the same.
struct OneLayer final : torch::nn::Module {
  OneLayer() {
    const torch::NoGradGuard no_grad;
    layer = register_module("layer", torch::nn::Linear(torch::nn::LinearOptions(8, 8).bias(false)));
    layer->weight.zero_();
  }
  torch::nn::Linear layer{nullptr};
};

/// How gradients of several micro-batches meet.
struct Accumulation {
  int64_t micro_batches = 64;
  bool exchanges_every_time = false;
  bool is_said_later = false;  // as after memory has run out, and not by the plan
};

/// One step of micro-batches, of which the first teaches 2^-2 and each of the others 2^-13: too little for
/// the sum of both to be another number in half precision. The exact sum is 0.25 + 63 / 8192.
at::Tensor learned_from_many(Strategy strategy, Precision precision, const Accumulation& accumulation) {
  at::Tensor learned;
  testing::run_thread_ranks(2, [&](Communicator& communicator) {
    OneLayer net;
    Plan plan = small_plan(strategy, precision);
    plan.exchange_every_micro_batch = accumulation.exchanges_every_time;
    if (!accumulation.is_said_later) plan.accumulation = accumulation.micro_batches;
    const auto parallel = make_parallelism(plan, plain_sgd(), net, communicator, {net.layer.get()});
    parallel->set_accumulation(accumulation.micro_batches);
    for (int64_t micro = 0; micro < accumulation.micro_batches; ++micro) {
      at::Tensor loss;
      {
        const AutocastScope autocast(c10::kCPU, precision);
        const at::Tensor input = torch::full({1, 8}, micro == 0 ? 4.0 : 1.0 / 512);
        loss = nn::run_block(net.layer, input).to(at::kFloat).sum() / 16;
      }
      parallel->backward(loss, micro + 1 == accumulation.micro_batches, {});
    }
    EXPECT_TRUE(parallel->finish().finite);
    parallel->step(/*learning_rate=*/1);
    const NamedTensors weights = parallel->weights();
    if (communicator.is_first()) learned = -weights.at("layer.weight").clone();
  });
  return learned;
}

TEST_P(EveryShare, AddsManyMicroBatchesUpInTheWidthOfTheOptimizersWeights) {
  for (const Precision precision : {Precision::bf16, Precision::fp16}) {
    const at::Tensor exact = torch::full({8, 8}, 0.25 + 63.0 / 8192);
    for (const bool every_time : {false, true}) {
      for (const bool later : {false, true}) {
        const auto learned = learned_from_many(GetParam(), precision,
                                               {.exchanges_every_time = every_time, .is_said_later = later});
        EXPECT_LT(testing::largest_difference(learned, exact), 1e-6)
            << to_text(precision) << (every_time ? ", meets at every micro-batch" : "")
            << (later ? ", said later" : "");
      }
    }
  }
}

/// The overflow is emulated, the numbers are exact: what is tested is who decides, and what stays behind.
TEST_P(EveryShare, SkipsTheStepOnAllRanksWhereOneOverflows) {
  constexpr int steps = 5, overflow_at = 2;
  SmallNet plain(1, at::kDouble);
  for (int step = 0; step < steps; ++step) {
    if (step == overflow_at) continue;
    const at::Tensor batch = testing::make_batch(step, 4, at::kDouble);
    (plain->forward(batch) - batch.flip(2)).square().mean().backward();
    const torch::NoGradGuard no_grad;
    for (at::Tensor& parameter : plain->parameters()) {
      if (parameter.grad().defined()) parameter.sub_(parameter.grad() * sharded_rate);
      parameter.mutable_grad() = at::Tensor();
    }
  }
  testing::run_thread_ranks(4, [&](Communicator& communicator) {
    at::set_num_threads(1);
    SmallNet net(1, at::kDouble);
    const auto parallel = make_parallelism(small_plan(GetParam(), Precision::fp16), plain_sgd(), *net,
                                           communicator, net->blocks());
    for (int step = 0; step < steps; ++step) {
      const at::Tensor batch = testing::make_batch(step, 4, at::kDouble).narrow(0, communicator.rank(), 1);
      const at::Tensor loss = (net->forward(batch) - batch.flip(2)).square().mean();
      const bool overflows = step == overflow_at && communicator.rank() == 3;
      parallel->backward(overflows ? loss * std::numeric_limits<double>::infinity() : loss, true, {});
      const Reduced reduced = parallel->finish();
      EXPECT_EQ(reduced.finite, step != overflow_at) << "rank " << communicator.rank() << ", step " << step;
      reduced.finite ? parallel->step(sharded_rate) : parallel->skip();
      EXPECT_EQ(parallel->loss_scale(), step < overflow_at ? 65536 : 32768);
    }
    EXPECT_LT(testing::largest_difference(whole_parameters(*parallel, *net), flat_parameters(*plain)), 1e-11);
  });
}

TEST(Zero3, RefusesAParameterThatTwoBlocksShare) {
  const auto solo = make_solo();
  torch::nn::Linear first(3, 3), second(3, 3);
  second->weight = second->register_parameter("tied", first->weight);
  torch::nn::Sequential net(first, second);
  try {
    make_parallelism(small_plan(Strategy::zero3), plain_sgd(), *net, *solo, {first.get(), second.get()});
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::usage);
    EXPECT_THAT(error.what(), HasSubstr("share the parameter"));
  }
}

TEST(Zero3, EndsTheOthersWhenARankFails) {
  const auto errors = testing::try_thread_ranks(2, [](Communicator& communicator) {
    SmallNet net(1);
    const auto parallel =
        make_parallelism(small_plan(Strategy::zero3), plain_sgd(), *net, communicator, net->blocks());
    if (communicator.rank() == 1) {
      EXPECT_FALSE(parallel->fail_step({.failed = true}));
      return;
    }
    parallel->backward(net->forward(testing::make_batch(0, 1, at::kFloat)).mean(), true, {});
    parallel->finish();
  });
  EXPECT_THAT(testing::message_of(errors[0]), HasSubstr("rank 1, which is gone"));
}

TEST(Zero3, LeavesAWholeNetworkBehind) {
  const auto solo = make_solo();
  SmallNet net(1), same(1);
  {
    const auto parallel =
        make_parallelism(small_plan(Strategy::zero3), plain_sgd(), *net, *solo, net->blocks());
    const WholeNetwork whole(*parallel);
    EXPECT_TRUE(torch::equal(flat_parameters(*net), flat_parameters(*same)));
  }
}

}  // namespace
}  // namespace larmor
