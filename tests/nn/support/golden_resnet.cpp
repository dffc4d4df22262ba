#include "tests/nn/support/golden_resnet.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/device/module_state.h"

namespace larmor::testing {
namespace {

struct ResNetPass {
  at::Tensor eval_before, train, loss;
};

ResNetPass pass_of(nn::ResNet& network, const Golden& golden, at::ScalarType type) {
  ResNetPass pass;
  const at::Tensor image = golden.at("input/x").to(type);
  network->eval();
  {
    const at::NoGradGuard no_gradient;
    pass.eval_before = network->forward(image);
  }
  network->train();
  pass.train = network->forward(image);
  pass.loss = (pass.train.select(1, 0) * golden.at("input/out_weight").to(type)).sum();
  pass.loss.backward();
  return pass;
}

void expect_running_statistics(const nn::ResNet& network, const Golden& golden) {
  std::size_t found = 0;
  for (const auto& item : network->named_buffers()) {
    const std::string& name = item.key();
    if (name.ends_with("num_batches_tracked")) {
      EXPECT_EQ(item.value().item<int64_t>(), 1) << name;
      continue;
    }
    ++found;
    const double sum = golden.number("after_one_train_forward_sum/" + name);
    EXPECT_NEAR(item.value().sum().item<double>(), sum, 1e-9 * static_cast<double>(item.value().numel()))
        << name;
    if (!golden.has("after_one_train_forward/" + name)) continue;
    EXPECT_LE(relative_l2(item.value(), golden.at("after_one_train_forward/" + name)), 1e-6) << name;
  }
  EXPECT_EQ(found, golden.under("after_one_train_forward_sum/").size());
}

}  // namespace

nn::ResNet resnet_by_rule(const nn::ResNetOptions& options, at::ScalarType type) {
  nn::ResNet network(options);
  network->to(type);
  rule_fill(*network);
  const at::NoGradGuard no_gradient;
  for (const auto& item : network->named_buffers()) {
    if (item.key().ends_with("running_mean"))
      item.value().copy_(rule_input(item.key(), item.value().sizes(), -0.1, 0.1));
    if (item.key().ends_with("running_var"))
      item.value().copy_(rule_input(item.key(), item.value().sizes(), 0.5, 1.5));
  }
  return network;
}

void expect_resnet_check_values(const nn::ResNetOptions& options, const CheckValues& expected) {
  nn::ResNet network = resnet_by_rule(options, at::kDouble);
  network->eval();
  const at::NoGradGuard no_gradient;
  expect_check_values(network->forward(rule_input("input", {2, 1, 32, 32, 16}, 0, 1)), expected);
}

void expect_golden_resnet(int64_t depth) {
  const Golden golden("resnet" + std::to_string(depth));
  nn::ResNetOptions options;
  options.depth = depth;
  // The weights are float32's in both precisions, as the reference's.
  nn::ResNet exact = resnet_by_rule(options, at::kFloat), single = resnet_by_rule(options, at::kFloat);
  exact->to(at::kDouble);
  const NamedTensors weights = state_dict(*exact);
  for (const auto& [name, sum] : golden.under("weight_sum/"))
    EXPECT_LE(relative_l2(weights.at(name).sum(), sum), 1e-12) << name;

  const ResNetPass in_float64 = pass_of(exact, golden, at::kDouble);
  EXPECT_LE(relative_l2(in_float64.eval_before, golden.at("out/eval_before")), 1e-9);
  EXPECT_LE(relative_l2(in_float64.train, golden.at("out/train")), 1e-9);
  EXPECT_LE(relative_l2(in_float64.loss, golden.at("loss/train")), 1e-9);
  expect_golden_gradients(*exact, golden);
  expect_running_statistics(exact, golden);
  exact->eval();
  {
    const at::NoGradGuard no_gradient;
    const at::Tensor after = exact->forward(golden.at("input/x").to(at::kDouble));
    EXPECT_LE(relative_l2(after, golden.at("out/eval_after_one_train_forward")), 1e-9);
  }

  const ResNetPass in_float32 = pass_of(single, golden, at::kFloat);
  EXPECT_LE(largest_difference(in_float32.eval_before, in_float64.eval_before),
            golden.allowed_in_float32("out/eval_before"));
  EXPECT_LE(largest_difference(in_float32.train, in_float64.train), golden.allowed_in_float32("out/train"));
}

}  // namespace larmor::testing
