// In which order the numbers of a volume lie in memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/plan/plan.h"

#include "tests/plan/support/machines.h"
#include "tests/plan/support/request.h"

namespace larmor {
namespace {

using ::testing::Contains;
using testing::gibibyte;
using testing::machine;
using testing::with_gpus;

class Order : public testing::Request {};

TEST_F(Order, IsChannelsLastWhereConvolutionsAreFasterInIt) {
  EXPECT_EQ(plan_on(machine(4, 16)).layout, Layout::channels_last);
  EXPECT_EQ(plan_on(with_gpus(machine(8, 32), 1, "NVIDIA L4", 24 * gibibyte, 8, 9)).layout,
            Layout::channels_last);
}

TEST_F(Order, IsContiguousOnOlderCardsInFp32OnCardsAndInFp64) {
  EXPECT_EQ(plan_on(with_gpus(machine(8, 32), 1, "Tesla T4", 15 * gibibyte, 7, 5)).layout,
            Layout::contiguous);
  config.train.precision = "fp32";
  EXPECT_EQ(plan_on(with_gpus(machine(8, 32), 1, "NVIDIA L4", 24 * gibibyte, 8, 9)).layout,
            Layout::contiguous);
  config.train.precision = "fp64";
  EXPECT_EQ(plan_on(machine(4, 16)).layout, Layout::contiguous);
}

TEST_F(Order, IsChannelsLastOnACpuUnderBatchNormAsWell) {
  demand.batch_norm = true;
  EXPECT_EQ(plan_on(machine(4, 16)).layout, Layout::channels_last);
}

TEST_F(Order, IsWhatWasAskedForWhereItIsThere) {
  config.train.layout = "contiguous";
  EXPECT_EQ(plan_on(machine(4, 16)).layout, Layout::contiguous);
  config.train.layout = "channels_last";
  config.train.precision = "fp64";
  const Plan plan = plan_on(machine(4, 16));
  EXPECT_EQ(plan.layout, Layout::contiguous);
  EXPECT_THAT(plan.reasons,
              Contains("Layout contiguous instead of channels_last, which was asked for: convolutions "
                       "in fp64 know no other order."));
}

}  // namespace
}  // namespace larmor
