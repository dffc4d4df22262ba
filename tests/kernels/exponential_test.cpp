#include "larmor/kernels/exponential.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace larmor::testing {
namespace {

using exponentials::exponential;
using exponentials::sigmoid;
using exponentials::silu;
using exponentials::silu_slope;

/// How many units in its last place a value is off, where a place is worth that of the true value.
double units_off(float value, double truth) {
  return std::fabs(static_cast<double>(value) - truth) / std::ldexp(1.0, std::ilogb(truth) - 23);
}

double units_off(double value, long double truth) {
  return static_cast<double>(std::fabs(static_cast<long double>(value) - truth) /
                             std::ldexp(1.0L, std::ilogb(truth) - 52));
}

TEST(Exponential, IsWithinTwoUnitsInTheLastPlaceInFloat32) {
  double most = 0;
  for (float x = 1e-30F; x <= 87.0F; x *= 1.00001F) {
    most = std::max({most, units_off(exponential(x), std::exp(static_cast<double>(x))),
                     units_off(exponential(-x), std::exp(-static_cast<double>(x)))});
  }
  EXPECT_LE(most, 2);
  EXPECT_GT(most, 0.5) << "no sum of rounded products is always right";
}

TEST(Exponential, IsWithinTwoUnitsInTheLastPlaceInFloat64) {
  double most = 0;
  for (double x = 1e-30; x <= 708; x *= 1.00003) {
    most = std::max({most, units_off(exponential(x), std::exp(static_cast<long double>(x))),
                     units_off(exponential(-x), std::exp(-static_cast<long double>(x)))});
  }
  EXPECT_LE(most, 2);
}

TEST(Exponential, OfDegreeFourIsGoodForSixteenBits) {
  double most = 0;
  for (float x = -87; x <= 87; x += 1e-3F) {
    const double truth = std::exp(static_cast<double>(x));
    most = std::max(most, std::fabs(static_cast<double>(exponential<float, 4>(x)) - truth) / truth);
  }
  EXPECT_LT(most, 1e-4);
}

TEST(Exponential, StaysFiniteAndKeepsWhatIsNoNumber) {
  constexpr float endless = std::numeric_limits<float>::infinity();
  EXPECT_EQ(exponential(0.0F), 1.0F);
  EXPECT_TRUE(std::isfinite(exponential(endless)));
  EXPECT_GT(exponential(-endless), 0.0F);
  EXPECT_TRUE(std::isnan(silu(std::numeric_limits<float>::quiet_NaN())));
  EXPECT_TRUE(std::isnan(silu_slope(std::numeric_limits<double>::quiet_NaN())));
}

TEST(Exponential, SigmoidAndSiluFollowTheirFormulas) {
  for (float x = -100; x <= 100; x += 0.0137F) {
    const double wide = x, part = 1 / (1 + std::exp(-wide));
    EXPECT_NEAR(sigmoid(x), part, 2e-7);
    EXPECT_NEAR(silu(x), wide * part, 2e-7 * std::max(1.0, std::fabs(wide)));
    EXPECT_NEAR(silu_slope(x), part * (1 + wide * (1 - part)), 1e-6) << x;
  }
  EXPECT_EQ(silu(1e30F), 1e30F);
  EXPECT_EQ(silu_slope(1e30F), 1.0F);
}

}  // namespace
}  // namespace larmor::testing
