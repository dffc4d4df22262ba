// The peak that is counted on the meta device against the one that a step on the CPU really has.
#include "larmor/measure/peak_count.h"

#include <functional>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/custom_function.h>

#include "larmor/measure/activation_count.h"

#include "tests/measure/support/linear_task.h"
#include "tests/measure/support/memory_case.h"

namespace larmor::testing {

namespace {

class PeakOf : public ::testing::TestWithParam<MemoryCase> {};

/// Above what forward keeps, and below what a CPU takes, whose convolutions and copies of weights come on
/// top. On cards, whose allocator counts the same tensors: tests/gpu_emulation/planned_memory_long_test.cpp.
TEST_P(PeakOf, LiesBetweenWhatForwardKeepsAndWhatACpuTakes) {
  const MemoryCase& which = GetParam();
  for (const MeasuredCase& measured : measure(which, {2, 3})) {
    const int64_t samples = measured.step.micro_batch;
    std::string why_not;
    const auto peak = count_peak(*which.make_task(), which.example(), samples, which.recompute, &why_not);
    ASSERT_TRUE(peak) << why_not;
    EXPECT_GT(*peak, measured.held) << samples << " samples";
    EXPECT_LT(*peak, measured.step.backward_peak - measured.step.before) << samples << " samples";
  }
}

INSTANTIATE_TEST_SUITE_P(Every, PeakOf, ::testing::ValuesIn(memory_cases(CaseSize::tiny)),
                         [](const auto& which) { return which.param.name; });

/// So many that their outputs are far larger than the weights.
constexpr int64_t samples = 100, outputs = 1024, output_bytes = samples * outputs * 4, few_numbers = 64;

TEST(PeakCount, HoldsTheGradientsThatPassBesideWhatForwardSaved) {
  LinearTask task(outputs, [](const at::Tensor& out) { return out.relu_().sum(); });
  const auto held = count_activations(task, eight_numbers(), Recompute::none).value();
  EXPECT_EQ(held.per_sample * samples, output_bytes);
  const auto peak = count_peak(task, eight_numbers(), samples, Recompute::none).value();
  EXPECT_GE(peak, 2 * output_bytes);
  EXPECT_LT(peak, 2 * output_bytes + few_numbers);
}

TEST(PeakCount, FreesTheGradientsOfParameters) {
  LinearTask task(outputs, [](const at::Tensor& out) { return out.sum(); });
  const auto peak = count_peak(task, eight_numbers(), /*samples=*/2, Recompute::none).value();
  constexpr int64_t weight_bytes = 8 * outputs * 4;
  EXPECT_GE(peak, weight_bytes) << "until it is added to those of the step";
  EXPECT_LT(peak, 2 * weight_bytes);
  for (const at::Tensor& parameter : task.objectives().front().network->parameters())
    EXPECT_FALSE(parameter.grad().defined());
}

/// Doubles, and has a gradient that looks at values.
struct LooksBack : torch::autograd::Function<LooksBack> {
  static at::Tensor forward(torch::autograd::AutogradContext*, const at::Tensor& input) { return input * 2; }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext*,
                                                 const torch::autograd::variable_list& gradients) {
    return {gradients[0] * gradients[0].max().item<double>()};
  }
};

TEST(PeakCount, IsUnknownWhereAPassLooksAtValuesAndSaysWhy) {
  const std::vector<std::function<at::Tensor(const at::Tensor&)>> looks{
      [](const at::Tensor& out) { return out.sum() * out.max().item<double>(); },
      [](const at::Tensor& out) { return LooksBack::apply(out).sum(); },
  };
  for (const auto& look : looks) {
    LinearTask task(outputs, look);
    std::string why_not;
    EXPECT_FALSE(count_peak(task, eight_numbers(), 1, Recompute::none, &why_not));
    EXPECT_THAT(why_not, ::testing::ContainsRegex("[Mm]eta"));
    EXPECT_THAT(why_not, ::testing::Not(::testing::HasSubstr("\n")));
  }
}

}  // namespace
}  // namespace larmor::testing
