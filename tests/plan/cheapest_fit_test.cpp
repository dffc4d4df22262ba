// What the plan changes of what the config leaves open, where a rank cannot hold its micro-batch.
#include "larmor/plan/cheapest_fit.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"

#include "tests/plan/support/request.h"

namespace larmor {
namespace {

using ::testing::Contains;
using testing::gibibyte;
using ::testing::HasSubstr;
using testing::machine;
using ::testing::Not;
using testing::with_gpus;

class CheapestFits : public testing::Request {
 protected:
  /// 21 M parameters; an example keeps 1 GiB, 100 MiB with its blocks computed again, 80 MiB with sections.
  CheapestFits() {
    demand.recomputed_bytes_per_sample = int64_t{100} << 20;
    demand.sectioned_bytes_per_sample = int64_t{80} << 20;
    config.train.precision = "fp32";
    config.train.micro_batch = 12;
  }
  /// 1 G parameters: 4 GB of weights, 4 of gradients, 8 of states.
  void make_large() {
    demand.parameters = 1'000'000'000;
    demand.model_bytes = 4 * demand.parameters;
    demand.optimizer_bytes = 8 * demand.parameters;
    demand.largest_block_bytes = 100'000'000;
  }
  static Hardware cards(int count, int gibibytes) {
    return with_gpus(machine(16, 256), count, "Card", static_cast<uint64_t>(gibibytes) * gibibyte, 8, 0);
  }
  /// "ddp blocks", with " offload" where the states are on the host.
  std::string way_on(const Hardware& hardware) const {
    const Plan plan = plan_on(hardware);
    return text(to_text(plan.strategy), " ", to_text(plan.recompute),
                plan.offload_optimizer ? " offload" : "");
  }
};

TEST_F(CheapestFits, ChangeNothingWhereThereIsRoom) {
  EXPECT_EQ(way_on(cards(1, 24)), "single none");
  EXPECT_EQ(way_on(cards(4, 24)), "ddp none");
  EXPECT_THAT(plan_on(cards(1, 24)).reasons, Not(Contains(HasSubstr("again"))));
}

TEST_F(CheapestFits, ComputeBlocksAgainBeforeTheyCutAnything) {
  EXPECT_EQ(way_on(cards(1, 8)), "single blocks");
  EXPECT_EQ(way_on(cards(4, 8)), "ddp blocks");
  const Plan plan = plan_on(cards(4, 8));
  EXPECT_LE(plan.memory.total(), plan.memory.available);
  EXPECT_THAT(plan.reasons,
              Contains(HasSubstr("Backward computes each block again: the cheapest way for a rank "
                                 "to hold a micro-batch of 12 (")));
  EXPECT_THAT(plan.reasons, Contains(HasSubstr("ddp would need 12.7 GiB of 6.78 GiB a rank; this needs ")))
      << join(plan.reasons, "\n");
}

TEST_F(CheapestFits, CutStatesWhereTheyAreTooLarge) {
  make_large();
  config.train.micro_batch = 1;
  EXPECT_EQ(way_on(cards(4, 17)), "ddp blocks") << "15 GiB, a tenth of a GiB less of activations is enough";
  EXPECT_EQ(way_on(cards(4, 13)), "zero1 none");
  EXPECT_EQ(way_on(cards(4, 11)), "zero1 blocks");
}

TEST_F(CheapestFits, KeepStatesOnTheHostLast) {
  make_large();
  config.train.micro_batch = 1;
  EXPECT_EQ(way_on(cards(1, 12)), "zero1 none offload");
  EXPECT_THAT(plan_on(cards(1, 12)).reasons,
              Contains(HasSubstr("The optimizer's states and the weights that it moves stay on the host: the "
                                 "cheapest way for a rank to hold a micro-batch of 1 (")));
  EXPECT_THAT(plan_on(cards(1, 12)).reasons,
              Contains("Strategy zero1: it is how one rank keeps the optimizer's states on the host."));
  auto small_host = cards(1, 12);
  small_host.memory_limit_bytes = 4 * gibibyte;
  EXPECT_THAT(refusal_on(small_host), HasSubstr("5: "));
}

TEST_F(CheapestFits, LeaveAloneWhatWasAskedFor) {
  config.train.activation_checkpointing = "none";
  EXPECT_EQ(way_on(cards(4, 8)), "ddp none") << "and says that memory may run out";
  EXPECT_THAT(plan_on(cards(4, 8)).reasons, Contains(HasSubstr("A rank may run out of memory")));
  config.train.activation_checkpointing = "auto";
  config.parallel.strategy = "zero2";
  EXPECT_EQ(way_on(cards(4, 8)), "zero2 blocks");
  make_large();
  config.parallel.strategy = "ddp";
  config.train.micro_batch = 1;
  EXPECT_THAT(refusal_on(cards(4, 12)), HasSubstr("parallel.strategy=zero1")) << "ddp keeps its states";
  config.parallel.strategy = "auto";
  config.parallel.offload = "none";
  EXPECT_THAT(refusal_on(cards(1, 12)), HasSubstr("parallel.offload=optimizer"));
}

TEST_F(CheapestFits, TakeSectionsWhereBlocksAreNotEnough) {
  demand.recomputed_bytes_per_sample = int64_t{900} << 20;
  EXPECT_EQ(way_on(cards(1, 8)), "single all");
  EXPECT_EQ(way_on(cards(4, 8)), "ddp all") << "cutting weights would not help";
}

TEST_F(CheapestFits, DoNotCutWeightsWhereActivationsAreTooLarge) {
  demand.recomputed_bytes_per_sample = demand.sectioned_bytes_per_sample = int64_t{900} << 20;
  EXPECT_EQ(way_on(cards(4, 8)), "ddp blocks");
  EXPECT_THAT(plan_on(cards(4, 8)).reasons, Contains(HasSubstr("it is not enough, and helps")));
}

// As where the first maps of a network and their gradients are by far the largest.
TEST_F(CheapestFits, ComputeNothingAgainWhereThatSparesHardlyAnything) {
  constexpr int64_t all_kept = int64_t{1} << 30;
  demand.recomputed_bytes_per_sample = demand.sectioned_bytes_per_sample = all_kept - 128;
  EXPECT_EQ(way_on(cards(4, 8)), "ddp none");
  demand.sectioned_bytes_per_sample = all_kept - all_kept / 50;
  EXPECT_EQ(way_on(cards(4, 8)), "ddp all");
}

TEST_F(CheapestFits, TakeASmallerMicroBatchBeforeAnything) {
  config.train.micro_batch.reset();
  demand.preferred_micro_batch = 12;
  const Plan plan = plan_on(cards(1, 8));
  EXPECT_EQ(plan.recompute, Recompute::none);
  EXPECT_EQ(plan.micro_batch, 6);
}

}  // namespace
}  // namespace larmor
