// A U-Net with weights by rule against a golden file: output, loss and every gradient, in both precisions.
#pragma once

#include <functional>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "tests/nn/support/golden.h"

namespace larmor::testing {

/// `make` makes a network, `forward` gives its output for the golden's input, in a precision. The loss is the
/// mean of (output - target)^2.
template <class Network>
void expect_golden_unet(const Golden& golden, const at::Tensor& target, const std::function<Network()>& make,
                        const std::function<at::Tensor(Network&, at::ScalarType)>& forward) {
  Network exact = make(), single = make();
  rule_fill_as(*exact, golden, at::kDouble);
  rule_fill_as(*single, golden, at::kFloat);
  const auto run = [&](Network& network, at::ScalarType type) {
    const at::Tensor out = forward(network, type);
    const at::Tensor loss = at::mse_loss(out, target.to(type));
    loss.backward();
    return std::pair(out, loss);
  };
  const auto [out, loss] = run(exact, at::kDouble);
  EXPECT_LE(relative_l2(out, golden.at("out/y")), 1e-6);
  EXPECT_LE(relative_l2(loss, golden.at("loss/mse")), 1e-9);
  expect_golden_gradients(*exact, golden);

  const at::Tensor in_float32 = run(single, at::kFloat).first;
  EXPECT_LE(largest_difference(in_float32, out), golden.allowed_in_float32("out/y"));
  expect_golden_float32_error(*single, *exact, golden);
}

}  // namespace larmor::testing
