#include "larmor/nn/diffusion/timesteps.h"

#include <string>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"

#include "tests/nn/support/golden.h"

namespace larmor::nn {
namespace {

using testing::Golden;
using Spacing = TimestepSpacing;

struct SpacingCase {
  std::string name;  // in the golden file, before the number of steps
  Spacing spacing;
  int64_t offset;
  std::string suffix = {};
};

const std::vector<SpacingCase>& spacings() {
  static const std::vector<SpacingCase> all = {{"leading", Spacing::leading, 0},
                                               {"leading", Spacing::leading, 1, "_offset1"},
                                               {"linspace", Spacing::linspace, 0},
                                               {"trailing", Spacing::trailing, 0}};
  return all;
}

void expect_equal(const std::vector<double>& actual, const at::Tensor& expected, double tolerance,
                  const std::string& name) {
  const at::Tensor values = expected.to(at::kCPU, at::kDouble);
  ASSERT_EQ(std::ssize(actual), values.size(0)) << name;
  for (int64_t i = 0; i < values.size(0); ++i)
    EXPECT_NEAR(actual[static_cast<std::size_t>(i)], values[i].item<double>(), tolerance) << name << " " << i;
}

TEST(TimestepsGolden, EqualThoseOfDiffusers) {
  const auto golden = Golden::shared("schedules2");
  if (!golden) GTEST_SKIP() << "no shared/golden on this machine";
  for (const SpacingCase& one : spacings()) {
    for (const int64_t steps : {7, 10, 20, 50}) {
      const std::string tag = one.name + std::to_string(steps) + one.suffix;
      const auto spaced = spaced_timesteps(one.spacing, steps, 1000, one.offset);
      expect_equal(spaced, golden->at("timesteps/ddim/" + tag), 0, tag);
      expect_equal(spaced, golden->at("timesteps/ddpm/" + tag), 0, tag);
      expect_equal(dpm_solver_timesteps(one.spacing, steps, 1000, one.offset),
                   golden->at("timesteps/dpmpp2m/" + tag), 0, tag);
      if (!golden->has("timesteps/euler/" + tag)) continue;
      // diffusers holds the fractions of linspace in float32.
      expect_equal(euler_timesteps(one.spacing, steps, 1000, one.offset),
                   golden->at("timesteps/euler/" + tag), 1e-4, tag);
    }
  }
}

TEST(TimestepsGolden, EqualThoseOfMonai) {
  const auto golden = Golden::shared("schedulers");
  if (!golden) GTEST_SKIP() << "no shared/golden on this machine";
  for (const int64_t steps : {10, 50, 1000}) {
    const std::string name = "ddim" + std::to_string(steps) + "/timesteps";
    expect_equal(spaced_timesteps(Spacing::linspace, steps, 1000), golden->at(name), 0, name);
  }
  expect_equal(spaced_timesteps(Spacing::linspace, 50, 1000), golden->at("ddpm50/timesteps"), 0, "ddpm50");
}

TEST(TimestepsGolden, EqualTheListsOfFastDdpm) {
  const auto golden = Golden::shared("fast_ddpm3d_samplers");
  if (!golden) GTEST_SKIP() << "no shared/golden on this machine";
  const std::vector<std::pair<std::string, FastDdpmTimesteps>> lists = {
      {"mirth_uniform", FastDdpmTimesteps::uniform},
      {"uniform", FastDdpmTimesteps::uniform_from_zero},
      {"non_uniform", FastDdpmTimesteps::non_uniform}};
  for (const auto& [name, kind] : lists) {
    for (const int64_t steps : {4, 5, 8, 10, 12, 15, 20, 25, 40, 50, 100}) {
      const at::Tensor expected = golden->at("timesteps/" + name + "/" + std::to_string(steps));
      const at::Tensor actual = at::tensor(fast_ddpm_timesteps(kind, steps, 1000), expected.options());
      EXPECT_TRUE(at::equal(actual, expected)) << name << " " << steps << "\n" << actual << expected;
    }
  }
}

TEST(Timesteps, OfFastDdpmAreThoseOfThePaper) {
  EXPECT_EQ(fast_ddpm_timesteps(FastDdpmTimesteps::uniform, 10, 1000),
            (std::vector<int64_t>{0, 99, 199, 299, 399, 499, 599, 699, 799, 899, 999}));
  EXPECT_EQ(fast_ddpm_timesteps(FastDdpmTimesteps::non_uniform, 10, 1000),
            (std::vector<int64_t>{0, 199, 399, 599, 699, 799, 849, 899, 949, 999}));
  EXPECT_EQ(descending(fast_ddpm_timesteps(FastDdpmTimesteps::uniform_from_zero, 4, 1000)),
            (std::vector<double>{750, 500, 250, 0}));
}

TEST(Timesteps, OfAStraightPathBeginAtPureNoise) {
  EXPECT_EQ(flow_timesteps(4, 1000), (std::vector<double>{1000, 750, 500, 250}));
}

TEST(Timesteps, MoreThanTheScheduleHasAreRefused) {
  EXPECT_THROW(spaced_timesteps(Spacing::trailing, 1001, 1000), Error);
  EXPECT_THROW(euler_timesteps(Spacing::leading, 11, 10), Error);
  EXPECT_THROW(flow_timesteps(11, 10), Error);
  EXPECT_THROW(spaced_timesteps(Spacing::leading, 0, 10), Error);
  EXPECT_THROW(fast_ddpm_timesteps(FastDdpmTimesteps::uniform, 11, 10), Error);
  EXPECT_THROW(fast_ddpm_timesteps(FastDdpmTimesteps::non_uniform, 3, 1000), Error);
  EXPECT_THROW(fast_ddpm_timesteps(FastDdpmTimesteps::non_uniform, 900, 1000), Error);
  // DPM-Solver++ leaves out a point of its own.
  EXPECT_THROW(dpm_solver_timesteps(Spacing::linspace, 10, 10), Error);
  EXPECT_NO_THROW(dpm_solver_timesteps(Spacing::trailing, 10, 10));
}

TEST(Timesteps, AnOffsetThatLeadsBeyondTheScheduleIsRefused) {
  EXPECT_THROW(spaced_timesteps(Spacing::leading, 1000, 1000, 1), Error);
  EXPECT_THROW(spaced_timesteps(Spacing::leading, 10, 1000, 100), Error);
  EXPECT_THROW(spaced_timesteps(Spacing::leading, 10, 1000, -1), Error);
  EXPECT_EQ(spaced_timesteps(Spacing::leading, 10, 1000, 99).front(), 999);
}

}  // namespace
}  // namespace larmor::nn
