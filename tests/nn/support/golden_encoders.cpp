#include "tests/nn/support/golden_encoders.h"

#include <utility>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace larmor::testing {
namespace {

struct BertRun {
  at::Tensor states, pooled, loss;
};

BertRun run_bert(nn::Bert& network, const Golden& golden, const std::string& rule_name, at::ScalarType type) {
  const at::Tensor seen = golden.at("input/attention_mask").to(at::kBool);
  BertRun run;
  run.states = network->forward(golden.at("input/input_ids"), seen, golden.at("input/token_type_ids"));
  run.pooled = network->pooled(run.states);
  const auto target = [&](const char* key, const char* of_rule, const at::Tensor& like) {
    if (golden.has(key)) return golden.at(key).to(type);
    return rule_input(rule_name + of_rule, like.sizes(), -1, 1).to(at::kFloat).to(type);
  };
  const at::Tensor error = run.states - target("input/target_hidden", " target hidden", run.states);
  run.loss = error.square().index({seen}).mean() +
             (run.pooled - target("input/target_pooler", " target pooler", run.pooled)).square().mean();
  run.loss.backward();
  return run;
}

}  // namespace

void expect_golden_convnext_by_rule(const Golden& golden, const nn::ConvNextOptions& options) {
  nn::ConvNext exact(options), single(options);
  rule_fill_as(*exact, golden, at::kDouble);
  rule_fill_as(*single, golden, at::kFloat);
  const auto run = [&](nn::ConvNext& network, at::ScalarType type) {
    auto maps = network->maps(golden.at("input/x").to(type));
    const at::Tensor loss = at::mse_loss(maps.back(), golden.at("input/target").to(type));
    loss.backward();
    maps.push_back(loss);
    return maps;
  };
  const auto maps = run(exact, at::kDouble), in_float32 = run(single, at::kFloat);
  for (std::size_t i = 0; i + 1 < maps.size(); ++i)
    expect_golden_output(golden, "out/map_" + std::to_string(i), maps[i], in_float32[i]);
  EXPECT_LE(relative_l2(maps.back(), golden.at("loss/mse")), 1e-9);
  expect_golden_gradients(*exact, golden);
  expect_golden_float32_error(*single, *exact, golden);
}

void expect_golden_bert(const Golden& golden, const nn::BertOptions& options, const std::string& rule_name) {
  nn::Bert exact(options), single(options);
  const auto fill = [&](nn::Bert& network, at::ScalarType type) {
    network->eval();
    if (rule_name.empty()) {
      golden.load_weights(*network, type);
    } else {
      rule_fill_as(*network, golden, type);
    }
  };
  fill(exact, at::kDouble);
  fill(single, at::kFloat);
  const BertRun run = run_bert(exact, golden, rule_name, at::kDouble);
  const BertRun in_float32 = run_bert(single, golden, rule_name, at::kFloat);
  expect_golden_output(golden, "out/last_hidden_state", run.states, in_float32.states);
  expect_golden_output(golden, "out/pooler", run.pooled, in_float32.pooled);
  EXPECT_LE(relative_l2(run.loss, golden.at("loss/total")), 1e-9);
  expect_golden_gradients(*exact, golden);
  expect_golden_float32_error(*single, *exact, golden);
}

}  // namespace larmor::testing
