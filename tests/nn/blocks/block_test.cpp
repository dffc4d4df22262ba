#include "larmor/nn/blocks/block.h"

#include <gtest/gtest.h>
#include <torch/nn.h>

#include "larmor/device/initialisation.h"

namespace larmor::nn {
namespace {

/// A block as those of a U-Net or a transformer: it takes a context that all of them share, a factor, and a
/// mask that may be missing.
class Conditioned final : public torch::nn::Module {
 public:
  Conditioned() : linear_(register_module("linear", torch::nn::Linear(4, 4))) { to(at::kDouble); }
  at::Tensor forward(const at::Tensor& value, const at::Tensor& context, double factor,
                     const at::Tensor& mask) {
    runs += 1;
    const at::Tensor added = torch::tanh(linear_(value) * context) * factor;
    return value + (mask.defined() ? added * mask : added);
  }
  int runs = 0;

 private:
  torch::nn::Linear linear_;
};

class CountingKeeper final : public WeightKeeper {
 public:
  bool keeps(const torch::nn::Module&) const override { return true; }
  BlockFunction with_weights(const torch::nn::Module&, BlockFunction run) override {
    return [this, run](const std::vector<at::Tensor>& inputs) {
      gathered += 1;
      return run(inputs);
    };
  }
  void expect_backward(const torch::nn::Module&, const std::vector<at::Tensor>& inputs,
                       const std::vector<at::Tensor>&) override {
    most_inputs = std::max(most_inputs, inputs.size());
  }
  int gathered = 0;
  size_t most_inputs = 0;
};

BlockList<Conditioned> five_blocks() {
  const SeededInitialisation seeded(2);
  BlockList<Conditioned> blocks;
  for (int i = 0; i < 5; ++i) blocks.push_back(std::make_shared<Conditioned>());
  return blocks;
}

struct Outcome {
  at::Tensor value;
  std::vector<at::Tensor> gradients;  // of the value, the context, and every weight
};

Outcome run_with(const BlockList<Conditioned>& blocks, Recompute recompute, const at::Tensor& mask) {
  const at::Tensor value = torch::arange(12, at::kDouble).sin().view({3, 4}).requires_grad_();
  const at::Tensor context = torch::arange(4, at::kDouble).cos().requires_grad_();
  for (const auto& block : blocks) block->zero_grad();
  at::Tensor output;
  {
    const RecomputeScope scope(recompute);
    output = run_blocks(blocks, value, context, 0.5, mask);
  }
  output.square().sum().backward();
  Outcome outcome{.value = output.detach(), .gradients = {value.grad(), context.grad()}};
  for (const auto& block : blocks) {
    for (const auto& parameter : block->parameters()) outcome.gradients.push_back(parameter.grad().clone());
  }
  return outcome;
}

TEST(RunBlocks, GiveEachBlockTheSharedInputsAndBringTheirGradientsBackWhateverIsComputedAgain) {
  const auto blocks = five_blocks();
  for (const at::Tensor& mask : {at::Tensor(), torch::tensor({1.0, 0.0, 1.0, 1.0}, at::kDouble)}) {
    const Outcome plain = run_with(blocks, Recompute::none, mask);
    for (const Recompute recompute : {Recompute::blocks, Recompute::all}) {
      const Outcome again = run_with(blocks, recompute, mask);
      EXPECT_TRUE(torch::equal(again.value, plain.value));
      ASSERT_EQ(again.gradients.size(), plain.gradients.size());
      for (size_t i = 0; i < plain.gradients.size(); ++i)
        EXPECT_TRUE(torch::allclose(again.gradients[i], plain.gradients[i], 1e-13, 1e-13)) << i;
    }
  }
}

TEST(RunBlocks, FormSectionsWithSharedInputs) {
  const auto blocks = five_blocks();
  run_with(blocks, Recompute::all, {});
  // Sections of three and two: a block runs in forward, in its section's rerun and in its own. The last of a
  // section needs none of the second: its inputs are all that its section keeps of it.
  const std::vector<int> expected{3, 3, 2, 3, 2};
  for (size_t i = 0; i < blocks.size(); ++i) EXPECT_EQ(blocks[i]->runs, expected[i]) << i;
}

TEST(RunBlocks, ShowTheKeeperOfWeightsAllTensorsOfABlock) {
  const auto blocks = five_blocks();
  for (const Recompute recompute : {Recompute::none, Recompute::blocks}) {
    CountingKeeper keeper;
    const WeightKeeperScope scope(keeper);
    run_with(blocks, recompute, {});
    EXPECT_EQ(keeper.gathered, recompute == Recompute::none ? 5 : 10);
    EXPECT_EQ(keeper.most_inputs, 3U) << "value, context and the undefined mask";
  }
}

}  // namespace
}  // namespace larmor::nn
