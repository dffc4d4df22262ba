#include "workloads/xray_to_ct/data/radiograph_faults.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "workloads/xray_to_ct/data/alignment.h"

namespace larmor::xray_to_ct::testing {
namespace {

at::Tensor some_film() {
  const at::Tensor line = at::linspace(-1, 1, 64, at::kFloat);
  return at::exp(-3 * (line.view({-1, 1}).square() + (line - 0.2).square())) * 2 - 1;
}

at::Tensor faulty(double strength, uint64_t stream) {
  Draws draws({.key = 5, .stream = stream});
  return with_faults(some_film(), strength, draws, {.key = 6, .stream = stream});
}

TEST(RadiographFaults, NoStrengthIsNoFaultAndTheSameKeyGivesTheSameOnes) {
  EXPECT_TRUE(at::equal(faulty(0, 1), some_film()));
  EXPECT_TRUE(at::equal(faulty(1, 1), faulty(1, 1)));
  EXPECT_FALSE(at::equal(faulty(1, 1), faulty(1, 2)));
}

TEST(RadiographFaults, AFaultyFilmStaysAFilmOfThePatient) {
  double sum = 0;
  for (uint64_t stream = 0; stream < 20; ++stream) {
    const at::Tensor image = faulty(1, stream);
    EXPECT_GE(image.min().item<double>(), -1);
    EXPECT_LE(image.max().item<double>(), 1);
    const double correlation = correlation_of(image, some_film());
    EXPECT_GT(correlation, 0.75) << stream;
    sum += correlation / 20;
  }
  EXPECT_LT(sum, 0.995) << "and yet is another one";
}

TEST(RadiographFaults, StrongerFaultsTakeTheSameDraws) {
  Draws weak({.key = 5, .stream = 1}), strong({.key = 5, .stream = 1});
  with_faults(some_film(), 0, weak, {});
  with_faults(some_film(), 1, strong, {});
  EXPECT_EQ(weak.uniform(), strong.uniform());
}

}  // namespace
}  // namespace larmor::xray_to_ct::testing
