#include "tests/kernels/support/expect_twin.h"

#include <utility>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/kernels/draw/draw.h"

namespace larmor::testing {
namespace {

using Tensors = std::vector<at::Tensor>;

struct Layout {
  std::string name;
  at::Tensor tensor;
};

std::vector<Layout> layouts_of(const at::Tensor& plain) {
  std::vector<Layout> layouts{{"contiguous", plain.contiguous()}};
  if (plain.dim() == 4)
    layouts.push_back({"channels-last", plain.contiguous(at::MemoryFormat::ChannelsLast)});
  if (plain.dim() == 5)
    layouts.push_back({"channels-last-3d", plain.contiguous(at::MemoryFormat::ChannelsLast3d)});
  // Every second element of a larger tensor, and the axes the other way round in memory.
  layouts.push_back({"strided", at::stack({plain, plain}, -1).select(-1, 0)});
  if (plain.dim() > 1)
    layouts.push_back({"transposed", plain.transpose(0, -1).contiguous().transpose(0, -1)});
  return layouts;
}

Tensors on_meta(const Tensors& tensors) {
  Tensors moved;
  for (const at::Tensor& tensor : tensors) moved.push_back(tensor.to(at::kMeta));
  return moved;
}

void expect_same_values(const at::Tensor& value, const at::Tensor& expected, double tolerance) {
  EXPECT_EQ(value.scalar_type(), expected.scalar_type());
  ASSERT_EQ(value.sizes(), expected.sizes());
  if (tolerance == 0) {
    EXPECT_TRUE(at::equal(value, expected));
  } else {
    EXPECT_TRUE(at::allclose(value, expected, tolerance, tolerance));
  }
}

void expect_shapes_on_meta(const KernelFunction& kernel, const at::Tensor& input, const Tensors& others,
                           const at::Tensor& value) {
  const at::Tensor counted = kernel(input.to(at::kMeta), on_meta(others));
  EXPECT_TRUE(counted.is_meta());
  EXPECT_EQ(counted.sizes(), value.sizes());
  EXPECT_EQ(counted.strides(), value.strides());
  EXPECT_EQ(counted.scalar_type(), value.scalar_type());
}

/// Central differences of a weighted sum of the outputs, element by element, in float64.
void expect_gradient(const KernelFunction& kernel, const at::Tensor& plain, const Tensors& others) {
  const at::Tensor input = plain.to(at::kDouble).clone().requires_grad_();
  const at::Tensor output = kernel(input, others);
  const at::Tensor weights = draw_normal(5, "weights of outputs", output.sizes()).to(at::kDouble);
  ASSERT_TRUE(output.requires_grad());
  (output * weights).sum().backward();
  const at::NoGradGuard no_gradient;
  constexpr double step = 1e-5;
  const at::Tensor moved = input.detach().clone();
  at::Tensor elements = moved.view(-1);
  const at::Tensor gradient = input.grad().reshape(-1);
  for (int64_t i = 0; i < elements.numel(); ++i) {
    const double value = elements[i].item<double>();
    const auto at_distance = [&](double distance) {
      elements[i] = value + distance;
      return (kernel(moved, others) * weights).sum().item<double>();
    };
    const double difference = (at_distance(step) - at_distance(-step)) / (2 * step);
    elements[i] = value;
    ASSERT_NEAR(gradient[i].item<double>(), difference, 1e-6) << "element " << i;
  }
}

}  // namespace

void expect_twin(const KernelFunction& kernel, const KernelFunction& twin, const TwinCase& given) {
  const at::Tensor plain = draw_normal(3, "input of a kernel", given.sizes);
  for (const at::ScalarType type : given.types) {
    for (const auto& [name, input] : layouts_of(plain.to(type))) {
      SCOPED_TRACE(name + ", " + c10::toString(type));
      const at::Tensor value = kernel(input, given.others);
      expect_same_values(value, twin(input, given.others), given.tolerance);
      expect_shapes_on_meta(kernel, input, given.others, value);
    }
  }
  if (given.is_differentiable) expect_gradient(kernel, plain, given.others);
}

}  // namespace larmor::testing
