// An operator on a GPU, or by the kernels of one: its values and all its gradients are those that it has on
// the CPU in float64, of the same rounded numbers, in each type and layout.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace larmor::testing::card {

/// An operator and the sizes of what it takes. The first leaf has the case's type and layout; the others its
/// type too, or at least float32 where `keeps_float32`, as the weights of norms have it under autocast.
struct CardCase {
  std::string name;
  std::vector<std::vector<int64_t>> leaves;
  std::function<at::Tensor(const std::vector<at::Tensor>&)> run;
  bool keeps_float32 = false;
  /// Of gradients in 16 bits: where rounding decides on which side of ReLU's zero a value lies, some are far
  /// away.
  double allowed_beside = 0;
  std::vector<at::ScalarType> types = {at::kDouble, at::kFloat, at::kHalf, at::kBFloat16};
};

/// What lives while the operator computes what is held to the CPU's.
using Surroundings = std::function<std::shared_ptr<void>()>;

void expect_cpu_values(const CardCase& given, c10::Device device, const Surroundings& surroundings = nullptr);

double allowed_of(at::ScalarType type);
/// |actual - truth| <= allowed |truth|; truth is in float64 and on the CPU.
void expect_near(const at::Tensor& actual, const at::Tensor& truth, double allowed, const std::string& what);

}  // namespace larmor::testing::card
