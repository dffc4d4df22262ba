#include "larmor/measure/roofline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace larmor {
namespace {

using ::testing::HasSubstr;

const Roofline example{.count = {.convolution = 60e9, .product = 15e9, .attention = 5e9, .bytes = 4e9},
                       .peak = {.convolution = 200e9, .product = 400e9, .bytes = 20e9},
                       .seconds = 1};

TEST(Roofline, TakesEachKindAtTheSpeedOfItsProbe) {
  EXPECT_DOUBLE_EQ(example.arithmetic_floor(), 60.0 / 200 + 20.0 / 400);
  EXPECT_DOUBLE_EQ(example.memory_floor(), 4.0 / 20);
}

TEST(Roofline, SaysTheShareOfThePeakAndWhatWouldBeTheLeast) {
  EXPECT_THAT(describe(example),
              HasSubstr("80.0 GFLOP (75 % of it convolutions) at 80 GFLOP/s: 20 % of the peak"));
  EXPECT_THAT(describe(example),
              HasSubstr("350 ms for the arithmetic and 200 ms for the memory, and it takes 1000"));
  const auto json = to_json(example);
  EXPECT_EQ(json["share_of_peak"], 0.2);
  EXPECT_EQ(json["gbyte_per_s"], 4.0);
}

TEST(Roofline, OfAStepWithoutCountedArithmeticIsStillSaid) {
  const Roofline idle{.peak = example.peak, .seconds = 1};
  EXPECT_THAT(describe(idle), HasSubstr("0.0 GFLOP (0 % of it convolutions)"));
}

}  // namespace
}  // namespace larmor
