// What holds for every plan: random machines and requests, drawn from a fixed seed.
#include <algorithm>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <tuple>

#include <gtest/gtest.h>

#include "larmor/plan/plan.h"

#include "tests/plan/support/machines.h"

namespace larmor {
namespace {

using testing::gibibyte;
using testing::refusal;
using testing::two_node_machine;
using testing::with_gpus;

struct Draw {
  Hardware hardware;
  Demand demand = testing::autoencoder();
  RunConfig config;
};

class Dice {
 public:
  explicit Dice(unsigned seed) : source_(seed) {}
  int64_t between(int64_t least, int64_t most) {
    return least + static_cast<int64_t>(source_() % static_cast<uint64_t>(most - least + 1));
  }
  bool chance(int percent) { return between(0, 99) < percent; }

 private:
  std::mt19937_64 source_;
};

/// What makes strategies differ: models from small to too large, and what was asked of them.
void draw_memory(Dice& dice, Draw& out) {
  if (dice.chance(50)) return;
  Demand& demand = out.demand;
  demand.parameters = dice.between(1, 4'000) * 1'000'000;
  demand.model_bytes = 4 * demand.parameters + dice.between(0, 1'000'000);
  demand.optimizer_bytes = 4 * demand.parameters * dice.between(1, 3);
  demand.largest_block_bytes = 4 * demand.parameters / dice.between(1, 50);
  demand.activation_bytes_per_sample = dice.between(0, int64_t{1} << 33);
  demand.recomputed_bytes_per_sample = demand.activation_bytes_per_sample / dice.between(1, 10);
  demand.sectioned_bytes_per_sample = demand.recomputed_bytes_per_sample / dice.between(1, 3);
  const char* const checkpointing[] = {"none", "blocks", "all", "auto"};
  out.config.train.activation_checkpointing = checkpointing[dice.between(0, 3)];
  const char* const strategies[] = {"ddp", "zero1", "zero2", "zero3"};
  if (dice.chance(20)) out.config.parallel.strategy = strategies[dice.between(0, 3)];
  if (dice.chance(20)) out.config.parallel.offload = "optimizer";
  if (dice.chance(10)) out.config.parallel.compression = "fp16";
}

Draw draw(unsigned seed) {
  Dice dice(seed);
  Draw out;
  out.hardware =
      two_node_machine(static_cast<int>(dice.between(1, 64)), static_cast<uint64_t>(dice.between(4, 512)));
  const int gpus = dice.chance(60) ? static_cast<int>(dice.between(1, 8)) : 0;
  for (int i = 0; i < gpus; ++i) {
    out.hardware = with_gpus(out.hardware, 1, "Card", static_cast<uint64_t>(dice.between(4, 80)) * gibibyte,
                             static_cast<int>(dice.between(6, 9)), 0);
    out.hardware.gpus.back().numa_node = static_cast<int>(dice.between(-1, 1));
  }
  out.demand.training_examples = dice.between(1, 400);
  out.demand.preferred_micro_batch = dice.between(1, 16);
  out.demand.batch_norm = dice.chance(20);
  TrainConfig& train = out.config.train;
  if (dice.chance(50)) train.global_batch = dice.between(1, 64);
  if (dice.chance(30)) train.micro_batch = dice.between(1, 8);
  if (dice.chance(30)) train.accumulation = dice.between(1, 4);
  if (dice.chance(40)) out.config.parallel.ranks = std::to_string(dice.between(1, 8));
  if (dice.chance(20)) {
    out.config.plan.profile = "guide";
    out.demand.guide = testing::question_answering_guide();
  }
  draw_memory(dice, out);
  return out;
}

constexpr unsigned draws = 4000;

TEST(EveryPlan, MultipliesUpToItsGlobalBatchAndKeepsWhatWasGiven) {
  int planned = 0;
  for (unsigned seed = 0; seed < draws; ++seed) {
    const Draw d = draw(seed);
    if (refusal(d.hardware, d.demand, d.config) != "accepted") continue;
    ++planned;
    const Plan plan = make_plan(d.hardware, d.demand, d.config);
    SCOPED_TRACE(testing::summary(plan));
    ASSERT_GE(plan.micro_batch, 1);
    ASSERT_GE(plan.accumulation, 1);
    ASSERT_EQ(plan.micro_batch * plan.accumulation * plan.world_size(), plan.global_batch);
    ASSERT_LE(plan.global_batch, d.demand.training_examples);
    const TrainConfig& train = d.config.train;
    ASSERT_EQ(plan.global_batch, train.global_batch.value_or(plan.global_batch));
    ASSERT_EQ(plan.micro_batch, train.micro_batch.value_or(plan.micro_batch));
    ASSERT_EQ(plan.accumulation, train.accumulation.value_or(plan.accumulation));
    if (d.demand.batch_norm) {
      ASSERT_EQ(plan.accumulation, 1);
    }
    if (d.config.parallel.ranks != "auto") {
      ASSERT_EQ(std::to_string(plan.world_size()), d.config.parallel.ranks);
    }
  }
  EXPECT_GT(planned, 1500) << "too few draws say anything";
}

TEST(EveryPlan, UsesEachGpuAndEachCoreOnce) {
  for (unsigned seed = 0; seed < draws; ++seed) {
    const Draw d = draw(seed);
    if (refusal(d.hardware, d.demand, d.config) != "accepted") continue;
    const Plan plan = make_plan(d.hardware, d.demand, d.config);
    SCOPED_TRACE(testing::summary(plan));
    std::multiset<int> gpus(plan.idle_devices.begin(), plan.idle_devices.end()), cores;
    for (const RankSeat& seat : plan.ranks) {
      if (plan.device == DeviceKind::cuda) gpus.insert(seat.device);
      cores.insert(seat.cores.begin(), seat.cores.end());
    }
    for (const Gpu& gpu : d.hardware.gpus) ASSERT_EQ(gpus.count(gpu.index), 1U);
    ASSERT_EQ(gpus.size(), d.hardware.gpus.size());
    for (const int core : cores) ASSERT_EQ(cores.count(core), 1U);
    ASSERT_LE(plan.world_size() * plan.threads_per_rank,
              std::max(plan.world_size(), d.hardware.usable_cores()));
  }
}

TEST(EveryPlan, OnItsOwnChoiceFitsInMemory) {
  int planned = 0;
  for (unsigned seed = 0; seed < draws; ++seed) {
    Draw d = draw(seed);
    d.config.train.micro_batch.reset();
    d.config.train.accumulation.reset();
    d.demand.batch_norm = false;
    if (refusal(d.hardware, d.demand, d.config) != "accepted") continue;
    ++planned;
    const Plan plan = make_plan(d.hardware, d.demand, d.config);
    ASSERT_LE(plan.memory.total(), plan.memory.available) << testing::summary(plan);
  }
  EXPECT_GT(planned, 1500);
}

TEST(EveryPlan, OfEqualQuestionsIsEqualAndSurvivesJson) {
  for (unsigned seed = 0; seed < draws / 4; ++seed) {
    const Draw d = draw(seed);
    const std::string answer = refusal(d.hardware, d.demand, d.config);
    ASSERT_EQ(answer, refusal(d.hardware, d.demand, d.config));
    if (answer != "accepted") continue;
    const Json json = to_json(make_plan(d.hardware, d.demand, d.config));
    ASSERT_EQ(json, to_json(make_plan(d.hardware, d.demand, d.config)));
    ASSERT_EQ(to_json(plan_from_json(json)), json);
  }
}

void add_memory(Hardware& hardware) {
  for (Gpu& gpu : hardware.gpus) gpu.memory_bytes = gpu.free_bytes = 2 * gpu.memory_bytes;
  hardware.memory_bytes = hardware.memory_limit_bytes = hardware.memory_available_bytes =
      2 * hardware.memory_bytes;
}

/// The order in which ways are tried: states on the host and sections computed again are the dearest.
auto price_of(const Plan& plan) {
  return std::tuple(plan.offload_optimizer, plan.recompute == Recompute::all, plan.strategy, plan.recompute);
}

TEST(EveryPlan, OfAMachineWithMoreMemoryIsNoDearer) {
  int different = 0;
  for (unsigned seed = 0; seed < draws; ++seed) {
    Draw d = draw(seed);
    if (refusal(d.hardware, d.demand, d.config) != "accepted") continue;
    const Plan small = make_plan(d.hardware, d.demand, d.config);
    add_memory(d.hardware);
    ASSERT_EQ(refusal(d.hardware, d.demand, d.config), "accepted") << testing::summary(small);
    const Plan large = make_plan(d.hardware, d.demand, d.config);
    if (small.memory.total() > small.memory.available) continue;  // it does what helps, at any price or none
    ASSERT_LE(price_of(large), price_of(small)) << testing::summary(small);
    ASSERT_LE(large.exchange_every_micro_batch && large.micro_batch == small.micro_batch,
              small.exchange_every_micro_batch)
        << testing::summary(small);
    different += price_of(large) != price_of(small) ? 1 : 0;
  }
  EXPECT_GT(different, 30) << "too few draws say anything";
}

/// Bytes a parameter, the whole and the part that ranks share. Source: Rajbhandari et al. 2020, table 1.
struct ZeroRow {
  const char* strategy;
  int64_t whole_fp32, shared_fp32, whole_half, shared_half;
};

TEST(EveryPlan, NeedsTheBytesOfTheZeroPaperAndWhatIsOnItsWay) {
  constexpr ZeroRow rows[] = {
      {"ddp", 16, 0, 18, 0},  // in half precision with the casts that a step makes
      {"zero1", 8, 8, 4, 12},
      {"zero2", 4, 12, 2, 14},
      {"zero3", 0, 16, 0, 16},
  };
  for (const ZeroRow& row : rows) {
    for (const int64_t ranks : {1, 2, 3, 4, 8}) {
      for (const bool is_half : {false, true}) {
        Demand demand;
        demand.parameters = 120'000'000;
        demand.model_bytes = 4 * demand.parameters;
        demand.optimizer_bytes = 8 * demand.parameters;
        demand.largest_block_bytes = 40'000'000;
        RunConfig config;
        config.parallel.strategy = row.strategy;
        config.parallel.ranks = std::to_string(ranks);
        config.train.precision = is_half ? "bf16" : "fp32";
        const Plan plan = make_plan(testing::machine(8, 64), demand, config);
        const int64_t width = is_half ? 2 : 4;
        const int64_t block = demand.largest_block_bytes / 4 * width;
        const int64_t on_their_way = plan.strategy == Strategy::zero3   ? 4 * block
                                     : plan.strategy == Strategy::zero2 ? 2 * plan.bucket_bytes
                                                                        : 0;
        const int64_t whole = is_half ? row.whole_half : row.whole_fp32;
        const int64_t shared = is_half ? row.shared_half : row.shared_fp32;
        EXPECT_EQ(plan.memory.total(),
                  demand.parameters * whole + demand.parameters * shared / ranks + on_their_way)
            << row.strategy << " on " << ranks << (is_half ? " in bf16" : " in fp32");
      }
    }
  }
}

}  // namespace
}  // namespace larmor
