#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/plan/plan.h"

#include "tests/plan/support/machines.h"
#include "tests/plan/support/request.h"

namespace larmor {
namespace {

using ::testing::AllOf;
using testing::autoencoder;
using ::testing::Contains;
using testing::gibibyte;
using ::testing::HasSubstr;
using testing::machine;
using testing::mebibyte;
using ::testing::Not;
using ::testing::StartsWith;
using testing::with_gpus;

constexpr auto signed_mebibyte = static_cast<int64_t>(mebibyte);

/// What the tensors of a rank may take of a GPU with so much free: less the context, and room for pieces.
int64_t room_on_a_gpu(uint64_t free_bytes) {
  return (static_cast<int64_t>(free_bytes) - 768 * signed_mebibyte) * 100 / 107;
}

/// What the tensors of a rank that is a process may take of so much on a CPU.
int64_t room_on_a_cpu(uint64_t free_bytes) {
  return static_cast<int64_t>(free_bytes) - 200 * signed_mebibyte;
}

class MemoryRequest : public testing::Request {};

TEST(Memory, OfACpuRankIsCountedByPart) {
  const MemoryEstimate memory = make_plan(machine(4, 16), autoencoder(), RunConfig{}).memory;
  EXPECT_EQ(memory.weights, 84'000'000);
  EXPECT_EQ(memory.gradients, 84'000'000);
  EXPECT_EQ(memory.optimizer, 168'000'000);
  EXPECT_EQ(memory.activations, 2 * 1024 * signed_mebibyte);
  EXPECT_EQ(memory.batch, 2 * 16 * 3 * signed_mebibyte);  // the batch in use and two ahead
  EXPECT_EQ(memory.available, room_on_a_cpu(16 * gibibyte));
}

TEST(Memory, OfACpuIsWhatIsFree) {
  Hardware hardware = machine(4, 16);
  const auto available = [&hardware](const RunConfig& config = {}) {
    return make_plan(hardware, autoencoder(), config).memory.available;
  };
  hardware.memory_available_bytes = 5 * gibibyte;
  EXPECT_EQ(available(), room_on_a_cpu(5 * gibibyte));
  hardware.memory_limit_bytes = 4 * gibibyte;
  EXPECT_EQ(available(), room_on_a_cpu(4 * gibibyte)) << "a limit of the job";
  hardware.memory_available_bytes = 0;
  EXPECT_EQ(available(), room_on_a_cpu(4 * gibibyte)) << "nobody knows what is free";
  RunConfig config;
  config.parallel.ranks = "2";
  EXPECT_EQ(available(config), room_on_a_cpu(2 * gibibyte)) << "each rank is a process";
  config.parallel.strategy = "dp";
  EXPECT_EQ(available(config), (static_cast<int64_t>(4 * gibibyte) - 200 * signed_mebibyte) / 2)
      << "two ranks are threads of one process";
}

TEST(Memory, ThatIsFreeIsSaid) {
  Hardware hardware = machine(4, 16);
  EXPECT_THAT(make_plan(hardware, autoencoder(), RunConfig{}).reasons,
              AllOf(Not(Contains(HasSubstr("free now"))),
                    Contains(HasSubstr(" of 15.8 GiB beside 200 MiB of each process itself ("))));
  hardware.memory_available_bytes = 5 * gibibyte;
  EXPECT_THAT(make_plan(hardware, autoencoder(), RunConfig{}).reasons,
              Contains("Memory is what is free now: 5 GiB free of 16 GiB that this job may use."));
}

TEST(Memory, ThatIsUsedByOthersMakesMicroBatchesSmaller) {
  Hardware hardware = machine(4, 64);
  const auto micro_batch = [&hardware] {
    RunConfig config;
    config.train.global_batch = 16;
    Demand demand = autoencoder();
    demand.preferred_micro_batch = 16;
    return make_plan(hardware, demand, config).micro_batch;
  };
  EXPECT_EQ(micro_batch(), 16);
  hardware.memory_available_bytes = 6 * gibibyte;
  EXPECT_EQ(micro_batch(), 4);
}

TEST_F(MemoryRequest, RefusesAProcessThatDoesNotFitItself) {
  Hardware hardware = machine(4, 16);
  hardware.memory_limit_bytes = 64 * mebibyte;
  demand = Demand{.training_examples = 10, .parameters = 1000, .model_bytes = 4000};
  EXPECT_THAT(refusal_on(hardware),
              AllOf(StartsWith("5: "), HasSubstr("64 MiB / 1 rank, beside 200 MiB of each process itself")));
}

TEST(Memory, InHalfPrecisionHasCastsOfTheWeightsAndHalfTheActivations) {
  const Hardware hardware = with_gpus(machine(4, 64), 1, "Card", 24 * gibibyte, 8, 0);
  const MemoryEstimate memory = make_plan(hardware, autoencoder(), RunConfig{}).memory;
  EXPECT_EQ(memory.weights, 126'000'000);
  EXPECT_EQ(memory.gradients, 84'000'000);
  EXPECT_EQ(memory.activations, 1024 * signed_mebibyte);
  EXPECT_EQ(memory.batch, 2 * 16 * 2 * signed_mebibyte);
  EXPECT_EQ(memory.available, room_on_a_gpu(24 * gibibyte));
}

TEST(Memory, InDoublePrecisionIsTwice) {
  RunConfig config;
  config.train.precision = "fp64";
  const MemoryEstimate memory = make_plan(machine(4, 16), autoencoder(), config).memory;
  EXPECT_EQ(memory.weights, 168'000'000);
  EXPECT_EQ(memory.gradients, 168'000'000);
  EXPECT_EQ(memory.optimizer, 336'000'000);
  EXPECT_EQ(memory.activations, 4 * 1024 * signed_mebibyte);
}

TEST(Memory, OfNetworksThatDoNotLearnIsTheirWeightsWholeOnEveryRank) {
  for (const char* const strategy : {"ddp", "zero1", "zero3"}) {
    RunConfig config;
    config.parallel.ranks = "2";
    config.parallel.strategy = strategy;
    Demand demand = autoencoder();
    demand.largest_block_bytes = 4'000'000;
    const MemoryEstimate alone = make_plan(machine(4, 16), demand, config).memory;
    demand.frozen_bytes = 40'000'000;
    const MemoryEstimate accompanied = make_plan(machine(4, 16), demand, config).memory;
    EXPECT_EQ(accompanied.weights, alone.weights + 40'000'000) << strategy;
    EXPECT_EQ(accompanied.total(), alone.total() + 40'000'000) << strategy << ": no gradients, no states";
  }
}

TEST(Memory, OfRecomputedBlocksIsWhatTheyKeepWithTheLargest) {
  Demand demand = autoencoder();
  demand.recomputed_bytes_per_sample = 300 * signed_mebibyte;
  demand.sectioned_bytes_per_sample = 200 * signed_mebibyte;
  RunConfig config;
  const auto activations = [&] { return make_plan(machine(4, 16), demand, config).memory.activations; };
  config.train.activation_checkpointing = "blocks";
  EXPECT_EQ(activations(), 2 * 300 * signed_mebibyte);
  config.train.activation_checkpointing = "all";
  EXPECT_EQ(activations(), 2 * 200 * signed_mebibyte);
  demand.sectioned_bytes_per_sample = 0;  // not counted: what everything kept takes is the safe answer
  EXPECT_EQ(activations(), 2 * 1024 * signed_mebibyte);
}

/// Half precision halves the gradients of one micro-batch, and not the sum of several.
TEST(Memory, OfGradientsThatAreAddedUpIsFloat32) {
  Demand demand = autoencoder();
  demand.largest_block_bytes = 4'000'000;
  RunConfig config;
  config.parallel.ranks = "4";
  config.train.micro_batch = 1;
  const auto gradients = [&](const char* strategy, const char* precision, int64_t accumulation) {
    config.parallel.strategy = strategy;
    config.train.precision = precision;
    config.train.accumulation = accumulation;
    return make_plan(machine(4, 64), demand, config).memory.gradients;
  };
  const int64_t parameters = demand.parameters;
  for (const char* strategy : {"ddp", "zero1", "zero2", "zero3"}) {
    EXPECT_EQ(gradients(strategy, "bf16", 8), gradients(strategy, "fp32", 8)) << strategy;
    EXPECT_EQ(gradients(strategy, "fp16", 8), gradients(strategy, "fp32", 8)) << strategy;
  }
  EXPECT_EQ(gradients("zero1", "bf16", 1), 2 * parameters);
  EXPECT_EQ(gradients("zero1", "bf16", 8), 4 * parameters);
  EXPECT_EQ(gradients("zero2", "bf16", 8), 4 * parameters + parameters)
      << "whole until they meet once a step";
  EXPECT_EQ(gradients("zero1", "fp64", 8), 8 * parameters);
}

TEST(Memory, OfBuffersIsWholeOnEveryRank) {
  Demand demand = autoencoder();
  demand.model_bytes += 8000;
  RunConfig config;
  config.parallel.ranks = "4";
  config.parallel.strategy = "zero3";
  config.train.precision = "bf16";
  EXPECT_EQ(make_plan(machine(4, 16), demand, config).memory.weights, 2 * demand.parameters / 4 + 8000);
}

TEST(Memory, OfParametersThatNoBlockHoldsIsWholeUnderZero3) {
  Demand demand = autoencoder();
  demand.largest_block_bytes = 4'000'000;
  RunConfig config;
  config.parallel.ranks = "4";
  config.parallel.strategy = "zero3";
  const MemoryEstimate cut = make_plan(machine(4, 16), demand, config).memory;
  demand.parameters_outside_blocks = 2'000'000;
  const MemoryEstimate memory = make_plan(machine(4, 16), demand, config).memory;
  EXPECT_EQ(memory.weights, cut.weights + 4 * 2'000'000 * 3 / 4);
  EXPECT_EQ(memory.gradients, cut.gradients + 2 * 4 * (2'000'000 - 1'000'000)) << "a bucket of them is more";
  EXPECT_EQ(memory.optimizer, cut.optimizer);
  demand.largest_block_bytes = 16'000'000;
  config.parallel.strategy = "zero2";
  EXPECT_EQ(make_plan(machine(4, 16), demand, config).memory.weights, 4 * demand.parameters);
}

TEST(Memory, HoldsAPassWithoutGradientOfAtMostHalfOfIt) {
  const Demand demand{.activation_bytes_per_sample = 400};  // of which a quarter lives at a time
  EXPECT_TRUE(fits_in_one_pass(demand, 2, 401));
  EXPECT_FALSE(fits_in_one_pass(demand, 2, 400));
  EXPECT_FALSE(fits_in_one_pass(demand, 2.1, 401));
  EXPECT_TRUE(fits_in_one_pass(Demand{}, 1000, 1)) << "of a network that says nothing";
  EXPECT_FALSE(fits_in_one_pass(demand, 2, 0)) << "memory that is not known";
}

TEST(Memory, OfTheFullestCardCounts) {
  Hardware hardware = with_gpus(machine(8, 64), 2, "Card", 24 * gibibyte, 8, 0);
  hardware.gpus[1].free_bytes = 10 * gibibyte;
  EXPECT_EQ(make_plan(hardware, autoencoder(), RunConfig{}).memory.available, room_on_a_gpu(10 * gibibyte));
}

TEST(Memory, OfAGpuIsNotAllForTensorsBecauseTheAllocatorKeepsPieces) {
  const Demand demand = autoencoder();
  RunConfig config;
  config.train.precision = "fp32";
  config.parallel.offload = "none";
  const auto plan_with = [&](uint64_t free_bytes) {
    return make_plan(with_gpus(machine(4, 64), 1, "Card", free_bytes, 8, 0), demand, config);
  };
  const auto needed = static_cast<uint64_t>(plan_with(80 * gibibyte).memory.total());
  const Plan tight = plan_with(768 * mebibyte + needed);
  EXPECT_EQ(tight.micro_batch, 1) << "two samples and the context would fill the card to the last byte";
  EXPECT_THAT(tight.reasons,
              Contains(AllOf(HasSubstr("A rank needs about "),
                             HasSubstr(" beside its context and 7 % for pieces that libtorch's "
                                       "allocator keeps ("))));
  const Plan roomy = plan_with(768 * mebibyte + needed * 107 / 100 + 1);
  EXPECT_EQ(roomy.micro_batch, 2);
  EXPECT_EQ(roomy.memory.available, static_cast<int64_t>(needed));
}

TEST(Memory, OfAGpuIsLessWhereSettingsKeepTheAllocatorsSegmentsFromGrowing) {
  const auto plan_by = [&](std::optional<bool> segments_grow) {
    Hardware hardware = with_gpus(machine(8, 64), 1, "Card", 24 * gibibyte, 8, 0);
    hardware.segments_grow = segments_grow;
    return make_plan(hardware, autoencoder(), RunConfig{});
  };
  const int64_t room = room_on_a_gpu(24 * gibibyte);
  EXPECT_EQ(plan_by({}).memory.available, room);
  EXPECT_EQ(plan_by(true).memory.available, room);
  EXPECT_EQ(plan_by(true).reasons, plan_by({}).reasons);
  const Plan plain = plan_by(false);
  EXPECT_NEAR(static_cast<double>(plain.memory.available), static_cast<double>(room) * 107 / 130, 1);
  EXPECT_THAT(
      plain.reasons,
      Contains(HasSubstr(" beside its context and 30 % for pieces that libtorch's allocator keeps, whose "
                         "settings lack expandable_segments:True (PYTORCH_CUDA_ALLOC_CONF)")));
}

TEST(Memory, OfAGpuGoesByTheGuidesSettingsWhereAPersonHasNone) {
  RunConfig config;
  config.plan.profile = "guide";
  Demand demand = autoencoder();
  demand.guide = testing::question_answering_guide();
  demand.guide.environment = {{"PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:512"}};
  Hardware hardware = with_gpus(machine(8, 64), 1, "Card", 24 * gibibyte, 8, 0);
  const int64_t room = room_on_a_gpu(24 * gibibyte);
  EXPECT_LT(make_plan(hardware, demand, config).memory.available, room);
  hardware.segments_grow = true;
  EXPECT_EQ(make_plan(hardware, demand, config).memory.available, room);
}

TEST(Memory, HasAnUnknownMarginWhereNothingIsMeasured) {
  RunConfig config;
  const auto says_so = Contains(HasSubstr(" + an unknown margin: plan.probe=true measures a step."));
  EXPECT_THAT(make_plan(machine(4, 16), autoencoder(), config).reasons, says_so);
  const Hardware gpu = with_gpus(machine(4, 64), 1, "Card", 24 * gibibyte, 8, 0);
  EXPECT_THAT(make_plan(gpu, autoencoder(), config).reasons, ::testing::Not(says_so));
  config.plan.probe = true;
  EXPECT_THAT(make_plan(machine(4, 16), autoencoder(), config).reasons, ::testing::Not(says_so));
}

TEST(Memory, WarnsOfAMicroBatchThatWasAskedForAndIsTooLarge) {
  RunConfig config;
  config.train.micro_batch = 12;
  const Plan plan = make_plan(machine(4, 8), autoencoder(), config);
  EXPECT_EQ(plan.micro_batch, 12);
  EXPECT_THAT(plan.reasons, Contains(HasSubstr("A rank may run out of memory: about ")));
  EXPECT_THAT(plan.reasons,
              Contains(HasSubstr("; train.micro_batch=7, or train.precision=bf16 (6.91 GiB) would fit.")));
}

TEST(Memory, WarnsOfAGlobalBatchThatBatchNormTakesWhole) {
  RunConfig config;
  config.train.global_batch = 12;
  Demand demand = autoencoder();
  demand.batch_norm = true;
  const Plan plan = make_plan(machine(4, 8), demand, config);
  EXPECT_EQ(plan.micro_batch, 12);
  EXPECT_THAT(plan.reasons, Contains(HasSubstr("; train.global_batch=7, or train.precision=bf16 (")));
}

TEST_F(MemoryRequest, RefusesAModelThatDoesNotFit) {
  demand.model_bytes = int64_t{2} << 30;
  demand.parameters = int64_t{1} << 29;
  demand.optimizer_bytes = int64_t{4} << 30;
  EXPECT_EQ(
      refusal_on(machine(4, 8)),
      "5: under single a rank with one example needs 9.05 GiB (weights 2 GiB + gradients 2 GiB + "
      "optimizer 4 GiB + activations 1 GiB + batches 48 MiB), but it may use 7.8 GiB (8 GiB / 1 rank, beside "
      "200 MiB of each process itself) | a smaller model, or devices with more memory");
}

TEST_F(MemoryRequest, RefusesAModelThatDoesNotFitOnTheCard) {
  config.parallel.offload = "none";
  demand.model_bytes = int64_t{4} << 30;
  demand.parameters = int64_t{1} << 30;
  const std::string answer = refusal_on(with_gpus(machine(4, 64), 1, "Card", 8 * gibibyte, 8, 0));
  EXPECT_TRUE(answer.starts_with("5: under single a rank with one example needs ")) << answer;
  EXPECT_THAT(answer,
              HasSubstr("but the smallest GPU has 6.78 GiB free beside its context and 7 % for pieces "
                        "that libtorch's allocator keeps"));
}

TEST_F(MemoryRequest, CountsWhatIsOffloadedWithTheHost) {
  demand.optimizer_bytes = int64_t{16} << 30;
  config.parallel.strategy = "zero1";
  config.parallel.offload = "optimizer";
  const Plan plan = plan_on(with_gpus(machine(16, 64), 4, "Card", 8 * gibibyte, 8, 0));
  EXPECT_EQ(plan.memory.optimizer, 0);
  EXPECT_EQ(plan.memory.offloaded, (demand.optimizer_bytes + 4 * demand.parameters) / 4);
  EXPECT_EQ(refusal_on(with_gpus(machine(16, 16), 4, "Card", 8 * gibibyte, 8, 0)),
            "5: the batches that wait for 4 ranks need 576 MiB of the host's memory (9 examples a rank × 16 "
            "MiB) and the optimizer's states there 16.1 GiB, but the job may use 16 GiB | data.prefetch=1, "
            "fewer data.workers, parallel.offload=none, or a smaller train.micro_batch");
}

TEST_F(MemoryRequest, RefusesBatchesThatDoNotFitInTheHost) {
  demand.sample_bytes = int64_t{1} << 30;
  config.train.micro_batch = 2;
  const std::string answer = refusal_on(with_gpus(machine(16, 32), 4, "Card", 80 * gibibyte, 8, 0));
  EXPECT_EQ(
      answer,
      "5: the batches that wait for 4 ranks need 36 GiB of the host's memory (9 examples a rank × 1 GiB), "
      "but the job may use 32 GiB | data.prefetch=1, fewer data.workers, or a smaller train.micro_batch");
}

}  // namespace
}  // namespace larmor
