// How ranks work together, by what fits, and in what portions gradients travel.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"
#include "larmor/plan/plan.h"

#include "tests/plan/support/machines.h"
#include "tests/plan/support/request.h"

namespace larmor {
namespace {

using ::testing::Contains;
using testing::gibibyte;
using ::testing::HasSubstr;
using testing::machine;
using ::testing::Not;
using testing::with_gpus;

class Strategies : public testing::Request {
 protected:
  /// 1 G parameters with Adam in fp32: 4 GB of weights, 4 of gradients, 8 of states; an example takes 1 GiB.
  Strategies() {
    demand.parameters = 1'000'000'000;
    demand.model_bytes = 4 * demand.parameters;
    demand.optimizer_bytes = 8 * demand.parameters;
    demand.largest_block_bytes = 100'000'000;
    config.train.precision = "fp32";
    config.train.activation_checkpointing = "none";
    config.parallel.offload = "none";
  }
  static Hardware four_of(double gibibytes) {
    return with_gpus(machine(16, 512), 4, "Card",
                     static_cast<uint64_t>(gibibytes * static_cast<double>(gibibyte)), 8, 0);
  }
  std::string reason_on(const Hardware& hardware) const {
    for (const std::string& reason : plan_on(hardware).reasons) {
      if (reason.starts_with("Strategy ")) return reason;
    }
    return "";
  }
};

TEST_F(Strategies, AreTheCheapestThatFits) {
  EXPECT_EQ(
      reason_on(four_of(24)),
      "Strategy ddp: each of 4 ranks needs 15.9 GiB of 21.7 GiB for a micro-batch of 1, and none costs less "
      "time.");
  EXPECT_EQ(
      reason_on(four_of(12)),
      "Strategy zero1: for a micro-batch of 1 ddp would need 15.9 GiB of 10.5 GiB a rank; this needs 10.3 "
      "GiB.");
  EXPECT_EQ(
      reason_on(four_of(9)),
      "Strategy zero2: for a micro-batch of 1 ddp would need 15.9 GiB of 7.71 GiB a rank, zero1 would need "
      "10.3 GiB; this needs 7.6 GiB.");
  EXPECT_EQ(
      reason_on(four_of(7)),
      "Strategy zero3: for a micro-batch of 1 ddp would need 15.9 GiB of 5.84 GiB a rank, zero1 would need "
      "10.3 GiB, zero2 would need 7.6 GiB; this needs 5.13 GiB.");
}

TEST_F(Strategies, ThatAllNeedTooMuchAreRefusedWithWhatWouldFit) {
  demand.recomputed_bytes_per_sample = 100'000'000;
  const std::string answer = refusal_on(four_of(5.3));
  EXPECT_TRUE(answer.starts_with("5: under zero3 a rank with one example needs 5.13 GiB (")) << answer;
  EXPECT_THAT(answer, HasSubstr("any of these would fit: "));
  EXPECT_THAT(answer, HasSubstr("train.activation_checkpointing=blocks (4.22 GiB)"));
  EXPECT_THAT(answer, Not(HasSubstr("train.precision=bf16"))) << "its master weights eat up what it spares";
  EXPECT_THAT(answer, HasSubstr("parallel.offload=optimizer ("));
  EXPECT_THAT(answer, HasSubstr("6 such GPUs under parallel.strategy=zero3 ("));
  EXPECT_THAT(answer, HasSubstr("examples of at most "));
}

TEST_F(Strategies, ThatAreAskedForAreRefusedWhereTheyDoNotFit) {
  config.parallel.strategy = "ddp";
  const std::string answer = refusal_on(four_of(12));
  EXPECT_TRUE(answer.starts_with("5: under ddp a rank with one example needs 15.9 GiB (")) << answer;
  EXPECT_THAT(answer, HasSubstr("parallel.strategy=zero1 (10.3 GiB)"));
  EXPECT_THAT(answer, HasSubstr("parallel.offload=optimizer parallel.strategy=zero1 ("));
}

TEST_F(Strategies, CountTheMicroBatchThatWasAskedFor) {
  config.train.micro_batch = 10;
  EXPECT_EQ(plan_on(four_of(24)).strategy, Strategy::zero1) << "9 GiB more than one example takes";
  config.train.micro_batch.reset();
  config.train.global_batch = 40;
  EXPECT_EQ(plan_on(four_of(24)).strategy, Strategy::ddp) << "its micro-batch may be 1";
  config.train.accumulation = 1;
  EXPECT_EQ(plan_on(four_of(24)).strategy, Strategy::zero1) << "its micro-batch has to be 10";
}

TEST_F(Strategies, ThatNoneFitsIsSaidWithTheOneThatNeedsLeast) {
  config.train.micro_batch = 30;
  demand.optimizer_bytes = 16 * demand.parameters;
  EXPECT_EQ(plan_on(four_of(24)).strategy, Strategy::zero3);
  EXPECT_THAT(reason_on(four_of(24)), HasSubstr("; none fits."));
}

TEST_F(Strategies, DoNotCutWeightsWhereActivationsAreTooLarge) {
  config.train.micro_batch = 30;
  EXPECT_EQ(plan_on(four_of(24)).strategy, Strategy::ddp);
  EXPECT_THAT(reason_on(four_of(24)),
              HasSubstr("none fits, and activations, which no strategy cuts, are why."));
}

TEST_F(Strategies, AreTakenAsAskedWhereTheyFit) {
  for (const char* const asked : {"ddp", "zero1", "zero2", "zero3"}) {
    config.parallel.strategy = asked;
    EXPECT_EQ(to_text(plan_on(four_of(80)).strategy), asked);
    EXPECT_EQ(reason_on(four_of(80)), text("Strategy ", asked, ", as asked, for 4 ranks."));
  }
  config.parallel.ranks = "1";
  EXPECT_EQ(reason_on(four_of(80)), "Strategy zero3, as asked, for 1 rank.");
}

TEST_F(Strategies, OfTheGuideAreZero2ForSeveralGpusUnlessAskedOtherwise) {
  config.plan.profile = "guide";
  demand.guide = testing::question_answering_guide();
  EXPECT_EQ(plan_on(four_of(80)).strategy, Strategy::zero2);
  config.parallel.strategy = "zero3";
  EXPECT_EQ(plan_on(four_of(80)).strategy, Strategy::zero3);
  config.parallel.strategy = "auto";
  config.parallel.ranks = "1";
  EXPECT_EQ(plan_on(four_of(80)).strategy, Strategy::single);
  config.parallel.device = "cpu";
  config.parallel.ranks = "2";
  EXPECT_EQ(plan_on(four_of(80)).strategy, Strategy::ddp);
}

TEST_F(Strategies, RefuseSingleWithSeveralRanks) {
  config.parallel.strategy = "single";
  config.parallel.ranks = "2";
  EXPECT_EQ(refusal_on(four_cards()),
            "2: parallel.strategy single runs 1 rank, but parallel.ranks asks for 2 | parallel.strategy=ddp, "
            "or parallel.ranks=1");
}

TEST_F(Strategies, AreThreadsOfOneProcessWhereAskedForAndPlannedAsProcessesAre) {
  config.parallel.strategy = "ddp";
  Json of_processes = to_json(plan_on(four_of(80)));
  config.parallel.strategy = "dp";
  const Plan plan = plan_on(four_of(80));
  EXPECT_TRUE(plan.in_one_process());
  EXPECT_EQ(
      reason_on(four_of(80)),
      "Strategy dp, as asked, for 4 ranks: threads of one process, which ends with the first of them that "
      "fails.");
  Json of_threads = to_json(plan);
  EXPECT_EQ(of_threads.at("strategy"), "dp");
  EXPECT_EQ(to_json(plan_from_json(of_threads)), of_threads);
  for (Json* const json : {&of_processes, &of_threads}) {
    json->erase("strategy");
    json->erase("reasons");
  }
  EXPECT_EQ(of_threads, of_processes);
  config.parallel.ranks = "1";
  EXPECT_FALSE(plan_on(four_of(80)).in_one_process());
  EXPECT_EQ(reason_on(four_of(80)), "Strategy dp, as asked, for 1 rank.");
}

TEST_F(Strategies, RefuseThreadsWhereOneProcessWillNotDo) {
  config.parallel.strategy = "dp";
  Hardware two_hosts = four_of(80);
  two_hosts.hosts = 2;
  EXPECT_EQ(
      refusal_on(two_hosts),
      "2: parallel.strategy dp is one process with a thread for each rank, but the ranks are on 2 hosts | "
      "parallel.strategy=ddp starts a process for each rank");
  config.parallel.ranks = "2";
  config.plan.probe = true;
  EXPECT_EQ(refusal_on(machine(4, 64)),
            "2: plan.probe measures a process, and under parallel.strategy dp one process holds all 2 "
            "ranks | plan.probe=false, or parallel.strategy=ddp");
  EXPECT_EQ(plan_on(four_of(80)).strategy, Strategy::dp) << "each GPU counts its own";
}

TEST_F(Strategies, RefuseWordsThatNobodyKnows) {
  config.parallel.strategy = "zero4";
  EXPECT_EQ(refusal_on(machine(4, 16)),
            "2: parallel.strategy is \"zero4\" | say auto, single, dp, ddp, zero1, zero2 or zero3");
  config.parallel.strategy = "auto";
  config.train.activation_checkpointing = "some";
  EXPECT_EQ(refusal_on(machine(4, 16)),
            "2: train.activation_checkpointing is \"some\" | say auto, none, blocks or all");
}

TEST_F(Strategies, KeepWholeGradientsBetweenMicroBatchesWhereThereIsRoom) {
  config.parallel.strategy = "zero2";
  config.train.accumulation = 4;
  config.train.micro_batch = 1;
  EXPECT_FALSE(plan_on(four_of(24)).exchange_every_micro_batch);
  EXPECT_THAT(
      plan_on(four_of(24)).reasons,
      Contains("Gradients meet once a step: there is room to keep them whole for its 4 micro-batches (11.3 "
               "GiB of 21.7 GiB a rank)."));
  const Plan tight = plan_on(four_of(9));
  EXPECT_TRUE(tight.exchange_every_micro_batch);
  EXPECT_THAT(
      tight.reasons,
      Contains("Gradients meet at every micro-batch: to keep them whole for all 4 of a step would need 11.3 "
               "GiB of 7.71 GiB a rank."));
  EXPECT_LE(tight.memory.total(), tight.memory.available);
  config.train.accumulation = 1;
  EXPECT_FALSE(plan_on(four_of(9)).exchange_every_micro_batch) << "there is but one";
  config.train.accumulation = 4;
  config.parallel.strategy = "zero1";
  EXPECT_FALSE(plan_on(four_of(24)).exchange_every_micro_batch) << "its gradients are whole anyway";
}

TEST_F(Strategies, AreChosenWithRoomForTheSumsOfAskedAccumulation) {
  config.train.precision = "bf16";
  EXPECT_EQ(plan_on(four_of(9)).strategy, Strategy::zero1) << reason_on(four_of(9));
  config.train.accumulation = 4;
  const Plan plan = plan_on(four_of(9));
  EXPECT_EQ(plan.strategy, Strategy::zero2) << reason_on(four_of(9));
  EXPECT_LE(plan.memory.total(), plan.memory.available);
}

TEST_F(Strategies, SendGradientsInBucketsOfHalfTheModelAtMost) {
  config.parallel.ranks = "2";
  EXPECT_EQ(plan_on(machine(4, 64)).bucket_bytes, 25 << 20);
  demand.parameters = 1'000'000;
  const Plan plan = plan_on(machine(4, 64));
  EXPECT_EQ(plan.bucket_bytes, 2'002'944);  // 2 000 000 bytes in whole pages
  EXPECT_THAT(plan.reasons, Contains(HasSubstr("half of the model's 3.81 MiB, so that sending overlaps")));
  config.train.precision = "bf16";
  config.parallel.strategy = "zero1";
  EXPECT_EQ(plan_on(machine(4, 64)).bucket_bytes, 1'003'520) << "of gradients half as wide";
}

}  // namespace
}  // namespace larmor
