#include "larmor/plan/guide.h"

#include <gtest/gtest.h>

#include "tests/plan/support/machines.h"

namespace larmor {
namespace {

using testing::mebibyte;

TEST(Guide, ChangesItsMicroBatchAtRoundThousandsOfMebibytes) {
  const auto micro_batch = [](uint64_t mebibytes) {
    return guide_batch_on_gpus(mebibytes * mebibyte, 4).micro_batch;
  };
  EXPECT_EQ(micro_batch(20000), 16);
  EXPECT_EQ(micro_batch(19999), 12);
  EXPECT_EQ(micro_batch(14000), 12);
  EXPECT_EQ(micro_batch(13999), 8);
  EXPECT_EQ(micro_batch(10000), 8);
  EXPECT_EQ(micro_batch(9999), 4);
  EXPECT_EQ(micro_batch(6000), 4);
  EXPECT_EQ(micro_batch(5999), 2);
}

TEST(Guide, KeepsAStepNear256ExamplesWithinItsAccumulations) {
  EXPECT_EQ(guide_batch_on_gpus(24000 * mebibyte, 1).accumulation, 16);
  EXPECT_EQ(guide_batch_on_gpus(24000 * mebibyte, 8).accumulation, 2);
  EXPECT_EQ(guide_batch_on_gpus(24000 * mebibyte, 64).accumulation, 1);
  EXPECT_EQ(guide_batch_on_gpus(4000 * mebibyte, 1).accumulation, 32);
}

TEST(Guide, LooksFurtherAheadWithMoreMemory) {
  constexpr uint64_t gibibyte = uint64_t{1} << 30;
  EXPECT_EQ(guide_prefetch(32 * gibibyte), 2);
  EXPECT_EQ(guide_prefetch(33 * gibibyte), 3);
  EXPECT_EQ(guide_prefetch(65 * gibibyte), 4);
}

}  // namespace
}  // namespace larmor
