// What cannot be planned is refused with the arithmetic and a way out.
#include <string>

#include <gtest/gtest.h>

#include "larmor/base/text.h"
#include "larmor/plan/plan.h"

#include "tests/plan/support/machines.h"

namespace larmor {
namespace {

using testing::autoencoder;
using testing::gibibyte;
using testing::machine;
using testing::refusal;
using testing::with_gpus;

class Refusals : public ::testing::Test {
 protected:
  std::string on(const Hardware& hardware) const { return refusal(hardware, demand, config); }
  static Hardware four_cards() { return with_gpus(machine(16, 64), 4, "NVIDIA L4", 24 * gibibyte, 8, 9); }

  RunConfig config;
  Demand demand = autoencoder();
};

TEST_F(Refusals, OfCudaWithoutAGpu) {
  config.parallel.device = "cuda";
  EXPECT_EQ(
      on(machine(4, 16)),
      "2: parallel.device is cuda, but this job sees no GPU | `larmor doctor` shows what was looked for; "
      "parallel.device=cpu trains without");
}

TEST_F(Refusals, OfMoreCpuRanksThanCores) {
  config.parallel.ranks = "8";
  Hardware hardware = machine(64, 64);
  hardware.cpu_quota = 2;
  hardware.notes = {"cgroup v2: 2.0 of 64 cores"};
  EXPECT_EQ(
      on(hardware),
      "2: parallel.ranks asks for 8 CPU ranks, but this job may use 2 cores (cgroup v2: 2.0 of 64 cores) | "
      "parallel.ranks=2 at most; `larmor doctor` shows what limits the cores");
}

TEST_F(Refusals, OfMoreRanksThanGpus) {
  config.parallel.ranks = "8";
  EXPECT_EQ(on(four_cards()),
            "2: parallel.ranks asks for 8 ranks of one GPU each, but this job sees 4 GPUs | parallel.ranks=4 "
            "at most, "
            "or parallel.device=cpu");
}

TEST_F(Refusals, OfAGpuThatIsNotThere) {
  config.parallel.ranks = "1,5";
  EXPECT_EQ(
      on(four_cards()),
      "2: parallel.ranks names GPU 5, but this job sees GPUs 0, 1, 2 and 3 | `larmor doctor` lists them");
}

TEST_F(Refusals, OfWordsThatAreNoRanks) {
  for (const char* word : {"", "0", "-1", "two", "1.5", "2x", "[]", ",", "0,,1", "0,a", "99999999999"}) {
    config.parallel.ranks = word;
    EXPECT_TRUE(on(four_cards()).starts_with(text("2: parallel.ranks is \"", word, "\" | ")))
        << on(four_cards());
  }
  config.parallel.ranks = "1,1";
  EXPECT_EQ(on(four_cards()), "2: parallel.ranks names GPU 1 twice | one rank a GPU");
}

TEST_F(Refusals, OfAListOfGpusOnTheCpu) {
  config.parallel.ranks = "0,1";
  EXPECT_EQ(on(machine(4, 16)),
            "2: parallel.ranks is a list of GPUs, \"0,1\", but the device is the CPU | give a count: "
            "parallel.ranks=2");
}

TEST_F(Refusals, OfABatchThatTheRanksCannotShare) {
  config.parallel.ranks = "3";
  config.train.global_batch = 16;
  EXPECT_EQ(on(four_cards()),
            "2: train.global_batch 16 cannot be shared evenly by 3 ranks: 16 / 3 leaves 1 | allowed world "
            "sizes: 4, 2, "
            "1 (parallel.ranks), or train.global_batch=15 or 18");
}

TEST_F(Refusals, OfSizesWhoseProductIsAnother) {
  config.train.global_batch = 16;
  config.train.micro_batch = 3;
  config.train.accumulation = 2;
  config.parallel.ranks = "4";
  EXPECT_EQ(on(four_cards()),
            "2: train.micro_batch 3 × train.accumulation 2 × 4 ranks = 24, but train.global_batch is 16 | "
            "leave one of "
            "the three at auto, or say train.global_batch=24");
}

TEST_F(Refusals, OfAMicroBatchThatDoesNotDivide) {
  config.train.global_batch = 16;
  config.train.micro_batch = 3;
  config.parallel.ranks = "4";
  EXPECT_EQ(on(four_cards()),
            "2: train.micro_batch 3 × 4 ranks = 12, but train.global_batch is 16, which is no multiple of it "
            "| leave "
            "train.micro_batch at auto, or say train.global_batch=12");
}

TEST_F(Refusals, OfSizesThatNoNumberOfCardsAllows) {
  config.train.global_batch = 16;
  config.train.micro_batch = 3;
  EXPECT_EQ(
      on(four_cards()),
      "2: train.micro_batch 3 × 1 rank = 3, but train.global_batch is 16, which is no multiple of it | leave "
      "train.micro_batch at auto, or say train.global_batch=15");
}

TEST_F(Refusals, OfAccumulationUnderBatchNorm) {
  demand.batch_norm = true;
  config.train.accumulation = 4;
  EXPECT_EQ(
      on(four_cards()),
      "2: train.accumulation is 4, but this model's batch norm takes its statistics from one micro-batch: "
      "accumulation would change the result | train.accumulation=1, and train.micro_batch for the size");
}

TEST_F(Refusals, OfABatchLargerThanTheTrainingSplit) {
  demand.training_examples = 10;
  config.train.global_batch = 16;
  config.parallel.ranks = "4";
  EXPECT_EQ(on(four_cards()),
            "2: train.global_batch 16 = micro-batch 2 × accumulation 2 × 4 ranks is more than the 10 "
            "examples of the "
            "training split | train.global_batch=8 at most, or more data");
}

TEST_F(Refusals, OfMoreRanksThanExamples) {
  demand.training_examples = 3;
  config.parallel.ranks = "4";
  EXPECT_EQ(
      on(four_cards()),
      "2: the global batch 4 = micro-batch 1 × accumulation 1 × 4 ranks is more than the 3 examples of the "
      "training split | parallel.ranks=3 at most, or more data");
}

TEST_F(Refusals, OfSingleWithSeveralRanks) {
  config.parallel.strategy = "single";
  config.parallel.ranks = "2";
  EXPECT_EQ(
      on(four_cards()),
      "2: parallel.strategy single runs 1 rank, but parallel.ranks asks for 2 | parallel.strategy=ddp, or "
      "parallel.ranks=1");
}

TEST_F(Refusals, OfBf16OnACardThatHasNone) {
  config.train.precision = "bf16";
  EXPECT_EQ(on(with_gpus(machine(8, 32), 1, "Tesla T4", 15 * gibibyte, 7, 5)),
            "2: train.precision is bf16, but GPU 0 has compute capability 7.5 and bf16 needs 8.0 | "
            "train.precision=fp16, or leave it at auto");
}

TEST_F(Refusals, OfWordsThatNobodyKnows) {
  config.train.precision = "fp8";
  EXPECT_EQ(on(machine(4, 16)), "2: train.precision is \"fp8\" | say auto, fp32, bf16, fp16 or fp64");
  config.train.precision = "auto";
  config.parallel.strategy = "zero1";
  EXPECT_EQ(on(machine(4, 16)), "2: parallel.strategy is \"zero1\" | say auto, single or ddp");
  config.parallel.device = "tpu";
  EXPECT_EQ(on(machine(4, 16)), "2: parallel.device is \"tpu\" | say auto, cpu or cuda");
}

TEST_F(Refusals, OfSizesOutOfRange) {
  config.train.global_batch = 16;
  for (const int64_t size : {int64_t{0}, int64_t{-4}, int64_t{1} << 62}) {
    config.train.micro_batch = size;
    EXPECT_EQ(on(four_cards()), text("2: train.micro_batch is ", size, " | say auto, or 1 to 1000000"));
  }
  config.train.micro_batch.reset();
  config.train.global_batch = 0;
  EXPECT_EQ(on(four_cards()), "2: train.global_batch is 0 | say auto, or 1 to 1000000");
  config.train.global_batch.reset();
  config.data.workers = -1;
  EXPECT_EQ(on(four_cards()), "2: data.workers is -1 | say auto, or 0 to 1024");
}

TEST_F(Refusals, OfAModelThatDoesNotFit) {
  demand.model_bytes = int64_t{2} << 30;
  demand.parameters = int64_t{1} << 29;
  demand.optimizer_bytes = int64_t{4} << 30;
  EXPECT_EQ(
      on(machine(4, 8)),
      "5: a rank with one example needs 9.05 GiB (weights 2 GiB + gradients 2 GiB + optimizer 4 GiB + "
      "activations 1 GiB + batches 48 MiB), but it may use 8 GiB (8 GiB / 1 rank) | a smaller model, smaller "
      "examples, or more memory for the job");
  config.parallel.ranks = "2";
  EXPECT_EQ(on(machine(4, 16)),
            "5: a rank with one example needs 9.05 GiB (weights 2 GiB + gradients 2 GiB + optimizer 4 GiB + "
            "activations 1 GiB + batches 48 MiB), but it may use 8 GiB (16 GiB / 2 ranks) | fewer ranks "
            "(parallel.ranks=1), a smaller model, or smaller examples");
}

TEST_F(Refusals, OfAModelThatDoesNotFitOnTheCard) {
  demand.model_bytes = int64_t{4} << 30;
  demand.parameters = int64_t{1} << 30;
  const std::string answer = on(with_gpus(machine(4, 64), 1, "Card", 8 * gibibyte, 8, 0));
  EXPECT_TRUE(answer.starts_with("5: a rank with one example needs ")) << answer;
  EXPECT_NE(answer.find("but the smallest GPU has 7.25 GiB free beside its context"), std::string::npos)
      << answer;
}

TEST_F(Refusals, OfBatchesThatDoNotFitInTheHost) {
  demand.sample_bytes = int64_t{1} << 30;
  config.train.micro_batch = 2;
  const std::string answer = on(with_gpus(machine(16, 32), 4, "Card", 80 * gibibyte, 8, 0));
  EXPECT_EQ(answer,
            "5: the batches that wait for 4 ranks need 36 GiB of the host's memory (9 examples a rank × 1 "
            "GiB), but "
            "the job may use 32 GiB | data.prefetch=1, fewer data.workers, or a smaller train.micro_batch");
}

}  // namespace
}  // namespace larmor
