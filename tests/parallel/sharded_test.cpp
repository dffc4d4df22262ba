// What only cut optimizers, gradients and weights can get wrong.
#include <filesystem>
#include <limits>

#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn.h>

#include "larmor/base/error.h"
#include "larmor/base/file.h"
#include "larmor/base/storage.h"
#include "larmor/base/text.h"
#include "larmor/device/autocast.h"
#include "larmor/device/memory_meter.h"
#include "larmor/device/run_block.h"
#include "larmor/device/tensor_file.h"
#include "larmor/parallel/parallelism.h"
#include "larmor/parallel/state_ranges.h"

#include "tests/comm/support/rank_threads.h"
#include "tests/parallel/support/saved_values.h"
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

constexpr double rate = 0.01;

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
    first->step(rate);
    second->step(rate);
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
        if (parameter.grad().defined()) parameter.sub_(parameter.grad() * rate);
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
        testing::run_thread_ranks(ranks, [&](Communicator& communicator) {
          EXPECT_LT(
              testing::largest_difference(train_pair(GetParam(), recompute, type, communicator), expected),
              tolerance)
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
      finite ? parallel->step(rate) : parallel->skip();
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
      if (parameter.grad().defined()) parameter.sub_(parameter.grad() * rate);
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
      reduced.finite ? parallel->step(rate) : parallel->skip();
      EXPECT_EQ(parallel->loss_scale(), step < overflow_at ? 65536 : 32768);
    }
    EXPECT_LT(testing::largest_difference(whole_parameters(*parallel, *net), flat_parameters(*plain)), 1e-11);
  });
}

/// Blocks of equal size, as many as it takes for two of them to be little.
struct Tower final : torch::nn::Module {
  Tower() {
    for (int64_t layer = 0; layer < 64; ++layer)
      layers.push_back(register_module(std::to_string(layer), torch::nn::Linear(128, 128)));
  }
  at::Tensor forward(at::Tensor value) {
    for (const auto& layer : layers) value = nn::run_block(layer, std::as_const(value));
    return value;
  }
  std::vector<const torch::nn::Module*> blocks() const {
    std::vector<const torch::nn::Module*> all;
    for (const auto& layer : layers) all.push_back(layer.get());
    return all;
  }
  std::vector<torch::nn::Linear> layers;
};

/// Bytes that all ranks together hold for weights, gradients and states, once gradients have met; of the
/// tower's layers the first `outside` pass for no blocks.
int64_t held_by_all(Strategy strategy, Precision precision, int ranks, int64_t outside = 0) {
  start_memory_meter();
  const int64_t before = metered_memory().held;
  int64_t held = 0;
  testing::run_thread_ranks(ranks, [&](Communicator& communicator) {
    at::set_num_threads(1);
    Tower net;
    auto blocks = net.blocks();
    blocks.erase(blocks.begin(), blocks.begin() + outside);
    const auto parallel =
        make_parallelism(small_plan(strategy, precision), testing::adam(), net, communicator, blocks);
    for (int step = 0; step < 2; ++step) {
      at::Tensor loss;
      {
        const AutocastScope autocast(c10::kCPU, precision);
        loss = net.forward(torch::ones({1, 128})).to(at::kFloat).square().mean();
      }
      parallel->backward(loss, true, {});
      loss = at::Tensor();
      parallel->finish();
      if (step == 0) parallel->step(1e-3);
    }
    communicator.barrier();
    if (communicator.is_first()) held = metered_memory().held - before;
    communicator.barrier();
  });
  return held;
}

/// Bytes a parameter and rank. Source: Rajbhandari et al. 2020.
double by_formula(Strategy strategy, double weight, double gradient, double states, double ranks) {
  const bool cuts_gradients = strategy == Strategy::zero2 || strategy == Strategy::zero3;
  const bool cuts_weights = strategy == Strategy::zero3;
  return (cuts_weights ? weight / ranks : weight) + (cuts_gradients ? gradient / ranks : gradient) +
         (strategy == Strategy::ddp ? states : states / ranks);
}

TEST_P(EveryShare, HoldsWhatTheFormulaSays) {
  const auto parameters = static_cast<double>(64 * (128 * 128 + 128));
  for (const int ranks : {1, 2, 3, 4}) {
    const double full = by_formula(GetParam(), 4, 4, 8, ranks) * parameters * ranks;
    EXPECT_NEAR(static_cast<double>(held_by_all(GetParam(), Precision::fp32, ranks)) / full, 1, 0.02)
        << ranks << " ranks";
    if (GetParam() == Strategy::ddp) continue;
    const double half = by_formula(GetParam(), 2, 2, 12, ranks) * parameters * ranks;
    EXPECT_NEAR(static_cast<double>(held_by_all(GetParam(), Precision::bf16, ranks)) / half, 1, 0.02)
        << ranks << " ranks in bf16";
  }
}

TEST(Zero3, HoldsWhatNoBlockHoldsWhole) {
  constexpr int64_t layer = 128 * 128 + 128, outside = 24;
  for (const int ranks : {2, 4}) {
    const double parts = by_formula(Strategy::zero3, 4, 4, 8, ranks) * (64 * layer);
    const double whole = 4.0 * outside * layer * (1 - 1.0 / ranks);
    EXPECT_NEAR(static_cast<double>(held_by_all(Strategy::zero3, Precision::fp32, ranks, outside)) / ranks,
                parts + whole, 0.02 * parts)
        << ranks << " ranks";
  }
}

/// Of four ranks that have moved a tower's weights once, one file each as a checkpoint has them.
void save_states(const std::filesystem::path& folder) {
  testing::run_thread_ranks(4, [&](Communicator& communicator) {
    at::set_num_threads(1);
    Tower net;
    const auto parallel = make_parallelism(small_plan(Strategy::zero1), testing::adam(), net, communicator);
    parallel->backward(net.forward(torch::ones({1, 128})).square().mean(), true, {});
    parallel->finish();
    parallel->step(1e-3);
    testing::Values own;
    parallel->save(own);
    DiskStorage storage;
    write_tensors(storage, folder / text(communicator.rank()), own.tensors);
  });
}

TEST(Sharded, OpensAStateWithoutHoldingMoreOfItThanItKeeps) {
  start_memory_meter();
  const ScratchFolder folder;
  save_states(folder.path());
  int64_t kept = 0, peak = 0;
  testing::run_thread_ranks(4, [&](Communicator& communicator) {
    Tower net;
    const auto parallel = make_parallelism(small_plan(Strategy::zero1), testing::adam(), net, communicator);
    communicator.barrier();
    const int64_t before = metered_memory().held;
    communicator.barrier();
    reset_metered_peak();
    communicator.barrier();
    StoredTensors all;
    for (int rank = 0; rank < communicator.size(); ++rank)
      all.merge(open_tensors(folder.path() / text(rank)));
    parallel->load(RangedState(std::move(all), {{"steps", 1}}, "a test"));
    communicator.barrier();
    if (communicator.is_first()) kept = metered_memory().held - before;
    if (communicator.is_first()) peak = metered_memory().peak - before;
    communicator.barrier();
  });
  const int64_t states = int64_t{8} * 64 * (128 * 128 + 128);  // two moments in fp32, of all ranks together
  EXPECT_NEAR(static_cast<double>(kept) / static_cast<double>(states), 1, 0.02);
  EXPECT_LT(static_cast<double>(peak), 1.2 * static_cast<double>(states));
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
