// What any number of ranks saved by any strategy has to open with any other.
#include <mutex>

#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include "larmor/parallel/parallelism.h"
#include "larmor/parallel/state_ranges.h"

#include "tests/comm/support/rank_threads.h"
#include "tests/parallel/support/saved_values.h"
#include "tests/parallel/support/small_net.h"
#include "tests/parallel/support/training.h"

namespace larmor {
namespace {

using testing::SmallNet;
using testing::Values;

constexpr int64_t global_batch = 24;
constexpr int saved_after = 2, all_steps = 4;

/// As a checkpoint has it.
struct Saved {
  NamedTensors weights, average;
  Values state;  // of all ranks
};

struct Way {
  Strategy strategy = Strategy::ddp;
  int ranks = 1;
};

std::string describe_saved(const Way& way) {
  return to_text(way.strategy) + " x " + std::to_string(way.ranks);
}

Plan plan_of(const Way& way) {
  Plan plan;
  plan.strategy = way.strategy;
  plan.precision = Precision::fp64;
  plan.bucket_bytes = 1024;
  return plan;
}

void train(SmallNet& net, Parallelism& parallel, const Communicator& communicator, int first, int end) {
  at::set_num_threads(1);
  const int64_t share = global_batch / communicator.size();
  for (int step = first; step < end; ++step) {
    const at::Tensor batch =
        testing::make_batch(step, global_batch, at::kDouble).narrow(0, communicator.rank() * share, share);
    parallel.backward((net->forward(batch) - batch.flip(2)).square().mean(), true, {});
    parallel.finish();
    parallel.step(0.01);
  }
}

Saved save_after_half(const Way& way, const OptimConfig& optim) {
  Saved saved;
  std::mutex mutex;
  testing::run_thread_ranks(way.ranks, [&](Communicator& communicator) {
    SmallNet net(1, at::kDouble);
    const auto parallel = make_parallelism(plan_of(way), optim, *net, communicator, net->blocks());
    train(net, *parallel, communicator, 0, saved_after);
    NamedTensors weights = parallel->weights(), average = parallel->average();
    const std::lock_guard lock(mutex);
    parallel->save(saved.state);
    if (!communicator.is_first()) return;
    for (const auto& [name, tensor] : weights) saved.weights[name] = tensor.clone();
    for (const auto& [name, tensor] : average) saved.average[name] = tensor.clone();
  });
  for (const auto& [name, tensor] : saved.average) saved.state.tensors["ema/" + name] = tensor;
  return saved;
}

/// All weights and all averages at the end.
at::Tensor finish_from(const Saved& saved, const Way& way, const OptimConfig& optim) {
  at::Tensor end;
  testing::run_thread_ranks(way.ranks, [&](Communicator& communicator) {
    SmallNet net(7, at::kDouble);
    const auto parallel = make_parallelism(plan_of(way), optim, *net, communicator, net->blocks());
    parallel->load_weights(saved.weights);
    parallel->load(RangedState(stored(saved.state.tensors), saved.state.values, "a test"));
    train(net, *parallel, communicator, saved_after, all_steps);
    const NamedTensors weights = parallel->weights(), average = parallel->average();
    if (!communicator.is_first()) return;
    std::vector<at::Tensor> all;
    for (const auto* const tensors : {&weights, &average}) {
      for (const auto& [name, tensor] : *tensors) all.push_back(tensor.reshape({-1}));
    }
    end = torch::cat(all);
  });
  return end;
}

OptimConfig with_average(OptimConfig optim) {
  optim.ema_decay = 0.9;
  return optim;
}

class StateOf : public ::testing::TestWithParam<Strategy> {};
INSTANTIATE_TEST_SUITE_P(Strategies, StateOf,
                         ::testing::Values(Strategy::ddp, Strategy::zero1, Strategy::zero2, Strategy::zero3),
                         [](const auto& of) { return to_text(of.param); });

TEST_P(StateOf, AnyNumberOfRanksOpensWithAnyOther) {
  const OptimConfig optim = with_average(testing::adam());
  const at::Tensor straight =
      finish_from(save_after_half({Strategy::ddp, 1}, optim), {Strategy::ddp, 1}, optim);
  for (const int before : {1, 2, 3, 4, 6, 8}) {
    const Saved saved = save_after_half({GetParam(), before}, optim);
    for (const int after : {1, 2, 3, 4, 6, 8}) {
      EXPECT_LE(testing::largest_difference(finish_from(saved, {GetParam(), after}, optim), straight), 1e-11)
          << before << " ranks, then " << after;
    }
  }
}

TEST_P(StateOf, GoesOnWithTheSameBits) {
  for (const OptimConfig& optim : {with_average(testing::adam()), with_average(testing::sgd())}) {
    const Way way{GetParam(), 3};
    at::Tensor straight;
    testing::run_thread_ranks(way.ranks, [&](Communicator& communicator) {
      SmallNet net(1, at::kDouble);
      const auto parallel = make_parallelism(plan_of(way), optim, *net, communicator, net->blocks());
      train(net, *parallel, communicator, 0, all_steps);
      const NamedTensors weights = parallel->weights(), average = parallel->average();
      std::vector<at::Tensor> all;
      for (const auto* const tensors : {&weights, &average}) {
        for (const auto& [name, tensor] : *tensors) all.push_back(tensor.reshape({-1}));
      }
      if (communicator.is_first()) straight = torch::cat(all);
    });
    const Saved saved = save_after_half(way, optim);
    EXPECT_TRUE(torch::equal(finish_from(saved, way, optim), straight)) << optim.name;
    EXPECT_EQ(saved.state.values.at("steps").get<int64_t>(), saved_after);
    EXPECT_FALSE(RangedState(stored(saved.state.tensors), {}, "a test")
                     .has(optim.name == "adam" ? "exp_avg/rare.weight" : "momentum_buffer/rare.weight"))
        << "a weight that never moved has no state";
  }
}

TEST(States, OfAnyStrategyOpenByAnyOther) {
  const OptimConfig optim = with_average(testing::adam());
  const at::Tensor straight =
      finish_from(save_after_half({Strategy::ddp, 1}, optim), {Strategy::ddp, 1}, optim);
  const auto all = {Strategy::ddp, Strategy::zero1, Strategy::zero2, Strategy::zero3};
  for (const Strategy before : all) {
    const Way from{before, 4};
    const Saved saved = save_after_half(from, optim);
    for (const Strategy after : all) {
      const Way to{after, 2};
      EXPECT_LE(testing::largest_difference(finish_from(saved, to, optim), straight), 1e-11)
          << describe_saved(from) << ", then " << describe_saved(to);
    }
  }
}

}  // namespace
}  // namespace larmor
