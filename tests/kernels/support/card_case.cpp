#include "tests/kernels/support/card_case.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/kernels/draw/draw.h"

namespace larmor::testing::card {
namespace {

using at::Tensor;
using Sizes = std::vector<int64_t>;
using Tensors = std::vector<Tensor>;

struct Results {
  Tensor output;
  Tensors gradients;
};

Results differentiate(const CardCase& given, const Tensors& values, c10::Device device, at::ScalarType type,
                      const Surroundings& surroundings = nullptr) {
  const std::shared_ptr<void> around = surroundings ? surroundings() : nullptr;
  Tensors leaves;
  for (const Tensor& value : values) {
    const auto own = type == at::kDouble ? type : value.scalar_type();
    leaves.push_back(value.to(at::TensorOptions(device).dtype(own)).detach().requires_grad_());
  }
  const Tensor output = given.run(leaves);
  const Tensor weights = draw_normal(5, "weights of outputs", output.sizes());
  output.backward(weights.to(values[0].scalar_type()).to(output.options()));
  Results results{.output = output.detach(), .gradients = {}};
  for (const Tensor& leaf : leaves) results.gradients.push_back(leaf.grad());
  return results;
}

bool can_lie_channels_last(const Tensor& tensor) { return tensor.dim() == 4 || tensor.dim() == 5; }

Tensor laid_out(const Tensor& tensor, bool channels_last) {
  if (!channels_last || !can_lie_channels_last(tensor)) return tensor.contiguous();
  return tensor.contiguous(tensor.dim() == 5 ? at::MemoryFormat::ChannelsLast3d
                                             : at::MemoryFormat::ChannelsLast);
}

Tensors drawn(const CardCase& given, at::ScalarType type, bool channels_last) {
  Tensors values;
  for (const Sizes& sizes : given.leaves) {
    const Tensor value = draw_normal(3, given.name + std::to_string(values.size()), sizes);
    const bool is_wide = given.keeps_float32 && !values.empty() && type != at::kDouble;
    values.push_back(laid_out(value.to(is_wide ? at::kFloat : type), channels_last));
  }
  return values;
}

}  // namespace

double allowed_of(at::ScalarType type) {
  switch (type) {
    case at::kDouble:
      return 1e-12;
    case at::kFloat:
      return 1e-5;
    case at::kHalf:
      return 2e-3;
    default:
      return 1.6e-2;
  }
}

void expect_near(const Tensor& actual, const Tensor& truth, double allowed, const std::string& what) {
  ASSERT_TRUE(actual.defined()) << what;
  ASSERT_EQ(actual.sizes(), truth.sizes()) << what;
  const Tensor own = actual.to(at::kCPU, at::kDouble);
  EXPECT_LE((own - truth).norm().item<double>(), allowed * truth.norm().item<double>()) << what;
}

void expect_cpu_values(const CardCase& given, c10::Device device, const Surroundings& surroundings) {
  for (const at::ScalarType type : given.types) {
    for (const bool channels_last : {false, true}) {
      SCOPED_TRACE(given.name + ", " + c10::toString(type) +
                   (channels_last ? ", channels last" : ", channels first"));
      const Tensors values = drawn(given, type, channels_last);
      if (channels_last && !can_lie_channels_last(values[0])) continue;
      const Results truth = differentiate(given, values, c10::kCPU, at::kDouble);
      const Results actual = differentiate(given, values, device, type, surroundings);
      const double beside = c10::isReducedFloatingType(type) ? given.allowed_beside : 0;
      EXPECT_EQ(actual.output.device(), device);
      expect_near(actual.output, truth.output, allowed_of(type), "output");
      for (size_t i = 0; i < truth.gradients.size(); ++i)
        expect_near(actual.gradients[i], truth.gradients[i], 2 * allowed_of(type) + beside,
                    "gradient " + std::to_string(i));
    }
  }
}

}  // namespace larmor::testing::card
