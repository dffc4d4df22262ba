#include "larmor/device/run_block.h"

#include <gtest/gtest.h>
#include <torch/nn.h>

namespace larmor::testing {
namespace {

/// Adds two tensors with a factor; may be given no second one.
struct MixImpl final : torch::nn::Module {
  at::Tensor forward(const at::Tensor& first, double factor, const at::Tensor& second) {
    return second.defined() ? first + factor * second : first * factor;
  }
};
TORCH_MODULE(Mix);

struct SplitImpl final : torch::nn::Module {
  std::vector<at::Tensor> forward(const at::Tensor& value) { return {value + 1, value + 2}; }
};
TORCH_MODULE(Split);

class Recorder final : public WeightKeeper {
 public:
  explicit Recorder(const torch::nn::Module& block) : block_(&block) {}
  bool keeps(const torch::nn::Module& block) const override { return &block == block_; }
  BlockFunction with_weights(const torch::nn::Module&, BlockFunction run) override {
    return [this, run](const std::vector<at::Tensor>& inputs) {
      runs += 1;
      return run(inputs);
    };
  }
  void expect_backward(const torch::nn::Module&, const std::vector<at::Tensor>& inputs,
                       const std::vector<at::Tensor>& outputs) override {
    expected = {inputs.size(), outputs.size()};
  }
  int runs = 0;
  std::pair<size_t, size_t> expected;

 private:
  const torch::nn::Module* block_;
};

TEST(RunBlock, GivesWhatTheBlockGivesWhateverStandsBehindTheDoor) {
  Mix mix;
  Split split;
  const at::Tensor a = torch::ones({3}, torch::requires_grad()), b = torch::full({3}, 2.0F);
  for (const Recompute recompute : {Recompute::none, Recompute::blocks, Recompute::all}) {
    const RecomputeScope scope(recompute);
    EXPECT_TRUE(torch::equal(nn::run_block(mix, a, 0.5, b), torch::full({3}, 2.0F)));
    EXPECT_TRUE(torch::equal(nn::run_block(mix, a, 3.0, at::Tensor()), torch::full({3}, 3.0F)));
    const std::vector<at::Tensor> halves = nn::run_block(split, a);
    ASSERT_EQ(halves.size(), 2U);
    EXPECT_TRUE(torch::equal(halves[1], torch::full({3}, 3.0F)));
  }
}

TEST(RunBlock, AsksTheKeeperOfTheBlockAlone) {
  Mix mine, other;
  Recorder keeper(*mine);
  const at::Tensor a = torch::ones({3}, torch::requires_grad());
  {
    const WeightKeeperScope scope(keeper);
    nn::run_block(other, a, 1.0, a);
    EXPECT_EQ(keeper.runs, 0);
    nn::run_block(mine, a, 1.0, a);
    EXPECT_EQ(keeper.runs, 1);
    EXPECT_EQ(keeper.expected, (std::pair<size_t, size_t>(2, 1)));
    keeper.expected = {};
    const torch::NoGradGuard no_grad;
    nn::run_block(mine, a, 1.0, a);
    EXPECT_EQ(keeper.expected, (std::pair<size_t, size_t>(0, 0))) << "without a graph there is no backward";
  }
  EXPECT_FALSE(block_hook::is_watched());
}

TEST(RunBlock, ComputesABlockWithinABlockOnceMoreOnlyWhereEverythingIs) {
  for (const auto& [recompute, within] :
       {std::pair(Recompute::blocks, Recompute::none), std::pair(Recompute::all, Recompute::all)}) {
    const RecomputeScope scope(recompute);
    Recompute seen = Recompute::blocks;
    const BlockFunction run = [&seen](const std::vector<at::Tensor>& inputs) {
      seen = recompute_here();
      return std::vector<at::Tensor>{inputs.front() * 2};
    };
    Mix block;
    block_hook::pass(*block, run, {torch::ones({1}, torch::requires_grad())});
    EXPECT_EQ(seen, within);
  }
}

}  // namespace
}  // namespace larmor::testing
