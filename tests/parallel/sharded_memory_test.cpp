// What ranks hold under each strategy, against the formulas, and what they read of a saved state.
#include <filesystem>

#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/nn.h>

#include "larmor/base/files/file.h"
#include "larmor/base/files/storage.h"
#include "larmor/base/text.h"
#include "larmor/device/autocast.h"
#include "larmor/device/memory/memory_meter.h"
#include "larmor/device/run_block.h"
#include "larmor/device/tensors/tensor_file.h"
#include "larmor/parallel/parallelism.h"
#include "larmor/parallel/state_ranges.h"

#include "tests/comm/support/rank_threads.h"
#include "tests/parallel/support/saved_values.h"
#include "tests/parallel/support/training.h"

namespace larmor {
namespace {

using testing::small_plan;

class MemoryOfShares : public ::testing::TestWithParam<Strategy> {};
INSTANTIATE_TEST_SUITE_P(By, MemoryOfShares,
                         ::testing::Values(Strategy::ddp, Strategy::zero1, Strategy::zero2, Strategy::zero3),
                         [](const auto& of) { return to_text(of.param); });

/// How gradients of several micro-batches meet.
struct AccumulationMemory {
  int64_t micro_batches = 1;
  bool exchanges_every_time = false;
};

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

/// Bytes that all ranks together hold for weights, gradients and states, once gradients have met, or, where a
/// step has several micro-batches, after the first of them; of the tower's layers the first `outside` pass
/// for no blocks.
int64_t held_by_all(Strategy strategy, Precision precision, int ranks, int64_t outside = 0,
                    const AccumulationMemory& accumulation = {}) {
  start_memory_meter();
  const int64_t before = metered_memory().held;
  int64_t held = 0;
  testing::run_thread_ranks(ranks, [&](Communicator& communicator) {
    at::set_num_threads(1);
    Tower net;
    auto blocks = net.blocks();
    blocks.erase(blocks.begin(), blocks.begin() + outside);
    Plan plan = small_plan(strategy, precision);
    plan.accumulation = accumulation.micro_batches;
    plan.exchange_every_micro_batch = accumulation.exchanges_every_time;
    const auto parallel = make_parallelism(plan, testing::adam(), net, communicator, blocks);
    const auto run_micro_batch = [&](bool last) {
      at::Tensor loss;
      {
        const AutocastScope autocast(c10::kCPU, precision);
        loss = net.forward(torch::ones({1, 128})).to(at::kFloat).square().mean();
      }
      parallel->backward(loss, last, {});
    };
    for (int64_t micro = 0; micro < plan.accumulation; ++micro)
      run_micro_batch(micro + 1 == plan.accumulation);
    parallel->finish();
    parallel->step(1e-3);
    const bool has_one = plan.accumulation == 1;
    run_micro_batch(/*last=*/has_one);
    if (has_one) parallel->finish();
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

TEST_P(MemoryOfShares, HoldsWhatTheFormulaSays) {
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

TEST_P(MemoryOfShares, HoldsGradientsThatAreAddedUpInFloat32) {
  if (GetParam() == Strategy::ddp) return;  // has float32 gradients at all times
  constexpr int ranks = 2;
  const auto parameters = static_cast<double>(64 * (128 * 128 + 128));
  const double without = by_formula(GetParam(), 2, 0, 12, ranks);
  const auto held = [&](bool every_time) {
    return static_cast<double>(held_by_all(GetParam(), Precision::bf16, ranks, 0,
                                           {.micro_batches = 3, .exchanges_every_time = every_time})) /
           (parameters * ranks);
  };
  EXPECT_NEAR(held(false), without + 4, 0.02 * without) << "whole ones, on each rank";
  if (GetParam() == Strategy::zero1) return;
  EXPECT_NEAR(held(true), without + 4.0 / ranks, 0.02 * without) << "each rank its part";
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

}  // namespace
}  // namespace larmor
