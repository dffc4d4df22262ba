#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/plan/plan.h"

#include "tests/plan/support/machines.h"

namespace larmor {
namespace {

using testing::autoencoder;
using ::testing::Contains;
using testing::gibibyte;
using ::testing::HasSubstr;
using testing::machine;
using testing::mebibyte;
using testing::with_gpus;

constexpr auto signed_mebibyte = static_cast<int64_t>(mebibyte);

TEST(Memory, OfACpuRankIsCountedByPart) {
  const MemoryEstimate memory = make_plan(machine(4, 16), autoencoder(), RunConfig{}).memory;
  EXPECT_EQ(memory.weights, 84'000'000);
  EXPECT_EQ(memory.gradients, 84'000'000);
  EXPECT_EQ(memory.optimizer, 168'000'000);
  EXPECT_EQ(memory.activations, 2 * 1024 * signed_mebibyte);
  EXPECT_EQ(memory.batch, 2 * 16 * 3 * signed_mebibyte);  // the batch in use and two ahead
  EXPECT_EQ(memory.available, static_cast<int64_t>(16 * gibibyte));
}

TEST(Memory, InHalfPrecisionHasCastsOfTheWeightsAndHalfTheActivations) {
  const Hardware hardware = with_gpus(machine(4, 64), 1, "Card", 24 * gibibyte, 8, 0);
  const MemoryEstimate memory = make_plan(hardware, autoencoder(), RunConfig{}).memory;
  EXPECT_EQ(memory.weights, 126'000'000);
  EXPECT_EQ(memory.gradients, 84'000'000);
  EXPECT_EQ(memory.activations, 1024 * signed_mebibyte);
  EXPECT_EQ(memory.batch, 2 * 16 * 2 * signed_mebibyte);
  EXPECT_EQ(memory.available, static_cast<int64_t>(24 * gibibyte) - 768 * signed_mebibyte);
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

TEST(Memory, OfTheFullestCardCounts) {
  Hardware hardware = with_gpus(machine(8, 64), 2, "Card", 24 * gibibyte, 8, 0);
  hardware.gpus[1].free_bytes = 10 * gibibyte;
  EXPECT_EQ(make_plan(hardware, autoencoder(), RunConfig{}).memory.available,
            static_cast<int64_t>(10 * gibibyte) - 768 * signed_mebibyte);
}

TEST(Memory, WarnsOfAMicroBatchThatWasAskedForAndIsTooLarge) {
  RunConfig config;
  config.train.micro_batch = 12;
  const Plan plan = make_plan(machine(4, 8), autoencoder(), config);
  EXPECT_EQ(plan.micro_batch, 12);
  EXPECT_THAT(plan.reasons, Contains(HasSubstr("A rank may run out of memory: about ")));
  EXPECT_THAT(plan.reasons, Contains(HasSubstr("; train.micro_batch=7 would fit.")));
}

TEST(Bucket, IsAtMostHalfOfTheGradients) {
  RunConfig config;
  config.parallel.ranks = "2";
  Demand demand = autoencoder();
  EXPECT_EQ(make_plan(machine(4, 64), demand, config).bucket_bytes, 25 * signed_mebibyte);
  demand.parameters = 1'000'000;
  const Plan plan = make_plan(machine(4, 64), demand, config);
  EXPECT_EQ(plan.bucket_bytes, 2'002'944);  // 2 000 000 bytes in whole pages
  EXPECT_THAT(plan.reasons, Contains(HasSubstr("half of the model's 3.81 MiB, so that sending overlaps")));
}

}  // namespace
}  // namespace larmor
