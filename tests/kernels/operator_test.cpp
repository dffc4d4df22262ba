#include "larmor/kernels/operator.h"

#include <stdexcept>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones_like.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

namespace larmor {
namespace {

using at::Tensor;
using Cube = Operator<"cube_of_a_test", Tensor(const Tensor& input)>;
using CubeSlope = Operator<"cube_slope_of_a_test", Tensor(const Tensor& gradient, const Tensor& input)>;

Tensor cube_on_cpu(const Tensor& input) { return input * input * input; }
Tensor cube_on_meta(const Tensor& input) { return at::empty_like(input); }
Tensor slope_on_cpu(const Tensor& gradient, const Tensor& input) { return 3 * gradient * input * input; }

struct DifferentiableCube : GradientNode<DifferentiableCube> {
  static Tensor forward(Context* context, const Tensor& input) {
    context->save_for_backward({input});
    return Cube::call_below_autograd(input);
  }

  static Variables backward(Context* context, const Variables& gradients) {
    const Variables saved = context->get_saved_variables();
    if (!at::GradMode::is_enabled()) return {CubeSlope::call_below_autograd(gradients[0], saved[0])};
    return differentiable_gradients(*context, cube_on_cpu(saved[0]), saved, gradients[0], 1);
  }
};

Tensor cube_with_gradient(const Tensor& input) { return DifferentiableCube::apply(input); }

const Cube::Registration cube("(Tensor input) -> Tensor",
                              {.cpu = cube_on_cpu, .meta = cube_on_meta, .autograd = cube_with_gradient});
const CubeSlope::Registration slope("(Tensor gradient, Tensor input) -> Tensor",
                                    {.cpu = slope_on_cpu, .autograd = CubeSlope::refuse_gradient});

Tensor two() { return at::full({3}, 2.0).requires_grad_(); }

TEST(RegisteredOperator, IsWhatItsDeviceHas) {
  EXPECT_TRUE(at::equal(Cube::call(two().detach()), at::full({3}, 8.0)));
  EXPECT_TRUE(Cube::call(two().detach().to(c10::kMeta)).is_meta());
  EXPECT_THROW(CubeSlope::call_below_autograd(two().detach().to(c10::kMeta), two().detach().to(c10::kMeta)),
               c10::Error);
}

TEST(RegisteredOperator, IsDifferentiatedByItsNodeAndAgainByOperatorsOfLibtorch) {
  const Tensor input = two(), result = Cube::call(input);
  const auto first = torch::autograd::grad({result}, {input}, {at::ones_like(result)}, /*retain_graph=*/true);
  EXPECT_TRUE(at::equal(first[0], at::full({3}, 12.0)));
  EXPECT_FALSE(first[0].requires_grad());
  const auto again = torch::autograd::grad({result}, {input}, {at::ones_like(result)}, /*retain_graph=*/true,
                                           /*create_graph=*/true);
  const auto second = torch::autograd::grad({again[0]}, {input}, {at::ones_like(result)});
  EXPECT_TRUE(at::equal(second[0], at::full({3}, 12.0)));
}

TEST(RegisteredOperator, RefusesTheGradientOfAGradientByItsName) {
  try {
    CubeSlope::call(two(), two());
    FAIL() << "nothing is refused";
  } catch (const std::logic_error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("larmor::cube_slope_of_a_test has no gradient"));
  }
}

TEST(OptionalTensor, IsNothingWhereTheTensorIsUndefined) {
  EXPECT_FALSE(if_defined(Tensor()).has_value());
  EXPECT_TRUE(if_defined(two()).has_value());
}

}  // namespace
}  // namespace larmor
