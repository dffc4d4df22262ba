// Reference tensors of tests/golden, and the measures that tests compare with.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <torch/nn/module.h>

#include "larmor/device/tensors/tensor_file.h"

namespace larmor::testing {

/// One file of tests/golden, or of the folder of larger ones beside the project.
class Golden {
 public:
  explicit Golden(const std::string& name);
  /// Of a file that only some machines have (shared_golden()); nothing where this one does not have it.
  static std::optional<Golden> shared(const std::string& name);

  /// Of a file that holds several runs: one of them, under the names that it has in a file of one run. What
  /// belongs to all runs is there, too.
  Golden run(std::string_view prefix) const;

  bool has(const std::string& key) const { return tensors_.contains(key); }
  /// On the device of the tests.
  at::Tensor at(const std::string& key) const;
  double number(const std::string& key) const;
  /// How far a float32 twin may be from float64: three times the error of the reference's own float32 run. A
  /// GPU's libraries add up in orders of their own: four times.
  double allowed_in_float32(const std::string& key) const;
  /// What stands under `prefix`, without it.
  NamedTensors under(std::string_view prefix) const;
  /// Loads weight/* into the module, as `type`, on the device of the tests.
  void load_weights(torch::nn::Module& module, at::ScalarType type) const;

 private:
  explicit Golden(NamedTensors tensors) : tensors_(std::move(tensors)) {}

  NamedTensors tensors_;
};

/// |actual - expected| / |expected|, in float64.
double relative_l2(const at::Tensor& actual, const at::Tensor& expected);
double largest_difference(const at::Tensor& actual, const at::Tensor& expected);

/// Compares an output with what the golden file has under `key`: the whole of it, or for large ones its mean,
/// mean of absolute values, first, last and 64 further elements. In float64 relative L2 at most 1e-6; the
/// float32 twin is nowhere further away than allowed_in_float32().
void expect_golden_output(const Golden& golden, const std::string& key, const at::Tensor& in_float64,
                          const at::Tensor& in_float32);

/// Compares a float64 module's gradients with grad_l2/*, grad_sum/* and grad/*: relative L2 at most 1e-6 a
/// tensor. Fails when a gradient of either side has no partner; one that is zero everywhere needs none.
void expect_golden_gradients(const torch::nn::Module& module, const Golden& golden);

/// Compares a float32 module's gradients with those of its float64 twin: at most allowed_in_float32(), for
/// the worst parameter and for the median one.
void expect_golden_float32_error(const torch::nn::Module& module, const torch::nn::Module& twin,
                                 const Golden& golden);

/// A tensor filled from its name by the rule of tests/golden/README.md, in [low, high], on the device of the
/// tests.
at::Tensor rule_input(std::string_view name, at::IntArrayRef sizes, double low, double high);
/// Every parameter filled from its name, on the device of the tests.
void rule_fill(torch::nn::Module& module);
/// The same rounded to float32, and then of the type; its sums are held to
/// weight_sum/* of the golden file.
void rule_fill_as(torch::nn::Module& module, const Golden& golden, at::ScalarType type);

/// Mean, mean of absolute values, first and last element: a line of the table of check values.
struct CheckValues {
  double mean, mean_absolute, first, last;
};
void expect_check_values(const at::Tensor& actual, const CheckValues& expected);

}  // namespace larmor::testing
