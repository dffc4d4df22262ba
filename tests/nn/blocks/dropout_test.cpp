#include "larmor/nn/blocks/dropout.h"

#include <gtest/gtest.h>
#include <torch/nn.h>

#include "larmor/base/error.h"
#include "larmor/device/draw_position.h"
#include "larmor/device/initialisation.h"

namespace larmor::nn {
namespace {

constexpr int64_t examples = 8, features = 6;

/// A chain of blocks with a weight and a dropout each, as transformers have them.
class Layer final : public Block {
 public:
  explicit Layer(int64_t number)
      : linear_(register_module("linear", torch::nn::Linear(features, features))),
        dropout_(register_module("dropout", std::make_shared<Dropout>(0.3, std::to_string(number)))) {}
  at::Tensor forward(const at::Tensor& input) override {
    return input + dropout_->forward(torch::gelu(linear_(input)));
  }

 private:
  torch::nn::Linear linear_;
  std::shared_ptr<Dropout> dropout_;
};

BlockList<Layer> layers() {
  const SeededInitialisation seeded(5);
  BlockList<Layer> list;
  for (int64_t number = 0; number < 5; ++number) {
    list.push_back(std::make_shared<Layer>(number));
    list.back()->to(at::kDouble);
  }
  return list;
}

DrawPosition examples_from(int64_t first, int64_t count) {
  DrawPosition position{.seed = 11, .epochs = {}, .examples = {}};
  for (int64_t i = first; i < first + count; ++i) {
    position.epochs.push_back(2);
    position.examples.push_back(7 * i);
  }
  return position;
}

at::Tensor batch() {
  return torch::arange(examples * features, at::kDouble).sin().view({examples, features});
}

/// Outputs and gradients of a batch that is divided into micro-batches of one size.
struct DividedPass {
  explicit DividedPass(int64_t micro_batch, Recompute recompute) {
    const auto blocks = layers();
    std::vector<at::Tensor> parts;
    for (int64_t first = 0; first < examples; first += micro_batch) {
      at::Tensor loss;
      {
        const DrawScope draws(examples_from(first, micro_batch));
        const RecomputeScope scope(recompute);
        parts.push_back(run_blocks(blocks, batch().narrow(0, first, micro_batch)));
        loss = parts.back().square().sum();
      }
      loss.backward();
      parts.back() = parts.back().detach();
    }
    output = torch::cat(parts);
    for (const auto& block : blocks) {
      for (const auto& parameter : block->parameters()) gradients.push_back(parameter.grad());
    }
  }
  at::Tensor output;
  std::vector<at::Tensor> gradients;
};

TEST(Dropout, IsTheSameHoweverTheBatchIsDividedAndWhateverIsComputedAgain) {
  const DividedPass whole(examples, Recompute::none);
  EXPECT_FALSE(torch::equal(whole.output, batch()));
  for (const int64_t micro_batch : {int64_t{1}, int64_t{2}, int64_t{4}, examples}) {
    for (const Recompute recompute : {Recompute::none, Recompute::blocks, Recompute::all}) {
      const DividedPass divided(micro_batch, recompute);
      // Products of one row round otherwise than those of eight; a mask that differs shows in the first
      // digit.
      EXPECT_TRUE(torch::allclose(divided.output, whole.output, 1e-12, 1e-12));
      for (size_t i = 0; i < whole.gradients.size(); ++i)
        EXPECT_TRUE(torch::allclose(divided.gradients[i], whole.gradients[i], 1e-12, 1e-12));
      if (micro_batch == examples) {
        EXPECT_TRUE(torch::equal(divided.output, whole.output));
        for (size_t i = 0; i < whole.gradients.size(); ++i)
          EXPECT_TRUE(torch::equal(divided.gradients[i], whole.gradients[i]))
              << "a rerun has to draw the same";
      }
    }
  }
}

TEST(Dropout, DropsItsShareAndKeepsTheMean) {
  Dropout dropout(0.25, "here");
  const DrawScope draws(examples_from(0, 4));
  const at::Tensor output = dropout.forward(torch::ones({4, 10000}));
  EXPECT_NEAR((output == 0).to(at::kDouble).mean().item<double>(), 0.25, 0.01);
  EXPECT_TRUE(torch::allclose(output.masked_select(output != 0), torch::full({1}, 1 / 0.75)));
}

TEST(Dropout, LeavesItsInputAloneOutsideTrainingAndWithNothingToDrop) {
  Dropout dropout(0.5, "here"), nothing(0, "there");
  dropout.eval();
  const at::Tensor input = torch::ones({2, 3});
  EXPECT_TRUE(dropout.forward(input).is_same(input)) << "where nothing is drawn no scope is needed";
  EXPECT_TRUE(nothing.forward(input).is_same(input));
}

TEST(Dropout, TwoOfOnePathAreRefused) {
  Dropout one(0.5, "here"), other(0.5, "here");
  const DrawScope draws(examples_from(0, 2));
  one.forward(torch::ones({2, 3}));
  EXPECT_THROW(other.forward(torch::ones({2, 3})), std::logic_error);
}

TEST(Dropout, EveryElementDroppedIsRefused) {
  EXPECT_THROW(Dropout(1, "here"), Error);
  EXPECT_THROW(Dropout(-0.1, "here"), Error);
  EXPECT_THROW(Dropout(std::nan(""), "here"), Error);
}

}  // namespace
}  // namespace larmor::nn
