#include "tests/nn/support/golden.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/device/module_state.h"

#include "tests/support/card/device_of_tests.h"
#include "tests/support/shared_data.h"

namespace larmor::testing {
namespace {

constexpr double tolerance = 1e-6;
constexpr int64_t modulus = 65521;

std::filesystem::path source_folder() {
  const char* folder = std::getenv("LARMOR_SOURCE");
  return folder != nullptr ? std::filesystem::path(folder) : std::filesystem::current_path();
}

/// Names and gradients of those parameters that are not zero by construction, as the bias of `to_k`.
std::vector<std::pair<std::string, at::Tensor>> gradients(const torch::nn::Module& module) {
  std::vector<std::pair<std::string, at::Tensor>> all;
  double largest = 0;
  for (const auto& item : module.named_parameters()) {
    all.emplace_back(item.key(), item.value().grad());
    largest = std::max(largest, item.value().grad().norm().item<double>());
  }
  std::erase_if(
      all, [&](const auto& entry) { return entry.second.norm().template item<double>() <= 1e-7 * largest; });
  return all;
}

at::Tensor on_cpu(const at::Tensor& tensor) { return tensor.detach().to(at::kCPU, at::kDouble); }

at::Tensor rule_values(std::string_view name, at::IntArrayRef sizes) {
  int64_t hash = 0;
  for (std::size_t i = 0; i < name.size(); ++i)
    hash += static_cast<int64_t>(i + 1) * static_cast<unsigned char>(name[i]);
  at::Tensor values = at::empty(sizes, at::kDouble);
  auto* out = values.mutable_data_ptr<double>();
  for (int64_t i = 0; i < values.numel(); ++i) {
    const int64_t k = (7919 * i + 104729 * (hash % modulus) + 12345) % modulus;
    out[i] = static_cast<double>(k * k % modulus) / static_cast<double>(modulus) - 0.5;
  }
  return values;
}

}  // namespace

Golden::Golden(const std::string& name)
    : tensors_(read_tensors(source_folder() / "tests" / "golden" / (name + ".safetensors"))) {}

std::optional<Golden> Golden::shared(const std::string& name) {
  const auto file = shared_golden() / (name + ".safetensors");
  if (!std::filesystem::exists(file)) return std::nullopt;
  return Golden(read_tensors(file));
}

Golden Golden::run(std::string_view prefix) const {
  NamedTensors of_run = tensors_;
  for (const auto& [name, tensor] : under(prefix)) of_run[name] = tensor;
  for (const auto& [name, error] : under("fp32_error/" + std::string(prefix)))
    of_run["fp32_error/" + name] = error;
  return Golden(std::move(of_run));
}

at::Tensor Golden::at(const std::string& key) const { return tensors_.at(key).to(device_of_tests()); }

double Golden::number(const std::string& key) const { return tensors_.at(key).item<double>(); }

double Golden::allowed_in_float32(const std::string& key) const {
  return (device_of_tests().is_cpu() ? 3 : 4) * number("fp32_error/" + key);
}

NamedTensors Golden::under(std::string_view prefix) const {
  NamedTensors found;
  for (const auto& [name, tensor] : tensors_) {
    if (name.starts_with(prefix)) found[name.substr(prefix.size())] = tensor;
  }
  return found;
}

void Golden::load_weights(torch::nn::Module& module, at::ScalarType type) const {
  module.to(device_of_tests(), type);
  load_state_dict(module, under("weight/"));
}

double relative_l2(const at::Tensor& actual, const at::Tensor& expected) {
  const at::Tensor reference = on_cpu(expected);
  return ((on_cpu(actual) - reference).norm() / reference.norm()).item<double>();
}

double largest_difference(const at::Tensor& actual, const at::Tensor& expected) {
  return (on_cpu(actual) - on_cpu(expected)).abs().max().item<double>();
}

void expect_golden_output(const Golden& golden, const std::string& key, const at::Tensor& in_float64,
                          const at::Tensor& in_float32) {
  EXPECT_LE(largest_difference(in_float32, in_float64), golden.allowed_in_float32(key)) << key;
  if (golden.has(key)) {
    EXPECT_EQ(in_float64.sizes(), golden.at(key).sizes()) << key;
    EXPECT_LE(relative_l2(in_float64, golden.at(key)), tolerance) << key;
    return;
  }
  const at::Tensor flat = in_float64.detach().contiguous().flatten();
  const at::Tensor statistics = at::stack({flat.mean(), flat.abs().mean(), flat[0], flat[flat.numel() - 1]});
  EXPECT_LE(relative_l2(statistics, golden.at(key + "/stats_mean_absmean_first_last")), tolerance) << key;
  EXPECT_LE(relative_l2(flat.index({golden.at(key + "/sample_index")}), golden.at(key + "/sample")),
            tolerance)
      << key;
}

void expect_golden_gradients(const torch::nn::Module& module, const Golden& golden) {
  const NamedTensors norms = golden.under("grad_l2/");
  const auto parameters = module.named_parameters();
  for (const auto& item : parameters) {
    const at::Tensor& gradient = item.value().grad();
    const bool has_one = gradient.defined() && at::count_nonzero(gradient).item<int64_t>() > 0;
    EXPECT_TRUE(norms.contains(item.key()) || !has_one) << item.key();
  }
  double largest = 0;
  for (const auto& [name, norm] : norms) largest = std::max(largest, norm.item<double>());
  for (const auto& [name, norm] : norms) {
    const at::Tensor* parameter = parameters.find(name);
    ASSERT_NE(parameter, nullptr) << name;
    const at::Tensor gradient = parameter->grad();
    ASSERT_TRUE(gradient.defined()) << name;
    const double expected = norm.item<double>();
    // Of a gradient that is zero by construction only rounding is left; it has no relative error.
    const double allowed = tolerance * std::max(expected, 1e-7 * largest);
    EXPECT_NEAR(gradient.norm().item<double>(), expected, allowed) << name;
    EXPECT_NEAR(gradient.sum().item<double>(), golden.number("grad_sum/" + name),
                allowed * std::sqrt(static_cast<double>(gradient.numel())))
        << name;
    if (!golden.has("grad/" + name)) continue;
    const double distance = (gradient - golden.at("grad/" + name).to(at::kDouble)).norm().item<double>();
    EXPECT_LE(distance, allowed) << name;
  }
}

void expect_golden_float32_error(const torch::nn::Module& module, const torch::nn::Module& twin,
                                 const Golden& golden) {
  const auto parameters = module.named_parameters();
  std::vector<double> errors;
  std::string worst;
  for (const auto& [name, exact] : gradients(twin)) {
    errors.push_back(relative_l2(parameters[name].grad(), exact));
    if (errors.back() >= *std::ranges::max_element(errors)) worst = name;
  }
  ASSERT_FALSE(errors.empty());
  std::ranges::sort(errors);
  EXPECT_LE(errors.back(), golden.allowed_in_float32("grad_relative_l2_worst_parameter")) << worst;
  EXPECT_LE(errors[(errors.size() - 1) / 2], golden.allowed_in_float32("grad_relative_l2_median_parameter"));
}

at::Tensor rule_input(std::string_view name, at::IntArrayRef sizes, double low, double high) {
  return (rule_values(name, sizes) * (high - low) + (high + low) / 2).to(device_of_tests());
}

void rule_fill(torch::nn::Module& module) {
  const at::NoGradGuard no_gradient;
  module.to(device_of_tests());
  for (const auto& item : module.named_parameters()) {
    const at::Tensor& parameter = item.value();
    at::Tensor values = rule_values(item.key(), parameter.sizes());
    if (parameter.dim() >= 2) {
      const auto fan = static_cast<double>(parameter.numel()) / static_cast<double>(parameter.size(0));
      values *= std::sqrt(12.0 / fan);
    } else {
      values *= 0.2;
      if (!item.key().ends_with("bias")) values += 1;
    }
    parameter.copy_(values);
  }
}

void rule_fill_as(torch::nn::Module& module, const Golden& golden, at::ScalarType type) {
  module.to(at::kFloat);
  rule_fill(module);
  module.to(type);
  const NamedTensors weights = state_dict(module), sums = golden.under("weight_sum/");
  EXPECT_EQ(weights.size(), sums.size());
  for (const auto& [name, sum] : sums) {
    ASSERT_TRUE(weights.contains(name)) << name;
    EXPECT_NEAR(weights.at(name).sum(at::kDouble).item<double>(), sum.item<double>(), 1e-9) << name;
  }
}

void expect_check_values(const at::Tensor& actual, const CheckValues& expected) {
  const at::Tensor flat = actual.detach().contiguous().flatten();
  const auto near = [](double value, double reference) {
    EXPECT_NEAR(value, reference, 2e-12 * std::max(1.0, std::abs(reference)));
  };
  near(flat.mean().item<double>(), expected.mean);
  near(flat.abs().mean().item<double>(), expected.mean_absolute);
  near(flat[0].item<double>(), expected.first);
  near(flat[-1].item<double>(), expected.last);
}

}  // namespace larmor::testing
