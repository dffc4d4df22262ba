// What is counted on the meta device against what a step on the CPU really holds.
#include "larmor/measure/activation_count.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/measure/block_order.h"

#include "tests/measure/support/linear_task.h"
#include "tests/measure/support/memory_case.h"

namespace larmor::testing {

namespace {

class ActivationsOf : public ::testing::TestWithParam<MemoryCase> {};

TEST_P(ActivationsOf, AreHeldAsTheyWereCounted) {
  const MemoryCase& which = GetParam();
  std::string why_not;
  const auto counted = count_activations(*which.make_task(), which.example(), which.recompute, &why_not);
  ASSERT_TRUE(counted) << why_not;
  for (const MeasuredCase& measured : measure(which, {1, 3})) {
    const int64_t samples = measured.step.micro_batch;
    const auto held = static_cast<double>(measured.held);
    EXPECT_NEAR(static_cast<double>(counted->held(samples)), held, 0.01 * held) << samples << " samples";
  }
}

INSTANTIATE_TEST_SUITE_P(Every, ActivationsOf, ::testing::ValuesIn(memory_cases(CaseSize::tiny)),
                         [](const auto& which) { return which.param.name; });

ActivationCount count_small(Recompute recompute) {
  const MemoryCase which = small_memory_case(recompute);
  return count_activations(*which.make_task(), which.example(), recompute).value();
}

TEST(ActivationCount, ShrinksTheMoreIsComputedAgain) {
  const auto all_kept = count_small(Recompute::none), blocks = count_small(Recompute::blocks),
             everything = count_small(Recompute::all);
  EXPECT_LT(blocks.held(1), all_kept.held(1) / 2);
  EXPECT_LT(everything.held(1), blocks.held(1));
  EXPECT_EQ(all_kept.rerun_per_sample, 0);
  EXPECT_GT(blocks.rerun_per_sample, 0);
  EXPECT_GT(everything.rerun_per_sample, blocks.rerun_per_sample);
}

// Two convolutions of 16 channels, with biases and norms, in a residual block.
TEST(ActivationCount, KnowsTheLargestBlock) {
  constexpr int64_t numbers = 2 * (16 * 16 * 27 + 16) + 2 * 2 * 16;
  for (const auto recompute : {Recompute::none, Recompute::blocks, Recompute::all})
    EXPECT_EQ(count_small(recompute).largest_block, numbers * 4);
}

TEST(ActivationCount, KnowsTheParametersThatNoBlockHolds) {
  const MemoryCase which = small_memory_case(Recompute::none);
  const auto task = which.make_task();
  const auto counted = count_activations(*task, which.example(), Recompute::none).value();
  const auto trial = which.make_task(), other = which.make_task();
  int64_t inside = 0, all = 0;
  const BlockOrder order = block_order(*other, *trial, which.example());
  for (const auto* const block : order.front()) {
    for (const auto& parameter : block->parameters()) inside += parameter.numel();
  }
  for (const auto& parameter : other->objectives().front().network->parameters()) all += parameter.numel();
  EXPECT_GT(inside, 0);
  EXPECT_EQ(counted.parameters_outside_blocks, all - inside);
}

TEST(ActivationCount, TellsWhatEachSampleHoldsFromWhatIsHeldOnce) {
  LinearTask task(
      16, [](const at::Tensor& out) { return (out.exp() * at::ones({16}, out.options()).exp()).sum(); });
  const auto counted = count_activations(task, eight_numbers(), Recompute::none);
  ASSERT_TRUE(counted);
  EXPECT_EQ(counted->per_sample, 16 * 4);
  EXPECT_EQ(counted->fixed, 16 * 4 + 4) << "the exponentials of ones, and the loss";
  EXPECT_EQ(counted->largest_block, 0) << "no block is hooked";
  EXPECT_EQ(counted->parameters_outside_blocks, 8 * 16 + 16);
}

TEST(ActivationCount, IsUnknownForALossThatLooksAtValuesAndSaysWhy) {
  const std::vector<std::function<at::Tensor(const at::Tensor&)>> looks{
      [](const at::Tensor& out) { return out.sum() * out.max().item<double>(); },
      [](const at::Tensor& out) { return out.index({out > 0}).sum(); },
  };
  for (const auto& look : looks) {
    LinearTask task(16, look);
    std::string why_not;
    EXPECT_FALSE(count_activations(task, eight_numbers(), Recompute::none, &why_not));
    EXPECT_THAT(why_not, ::testing::ContainsRegex("[Mm]eta"));
    EXPECT_THAT(why_not, ::testing::Not(::testing::HasSubstr("\n")));
  }
}

}  // namespace
}  // namespace larmor::testing
