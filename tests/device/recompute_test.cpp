#include "larmor/device/recompute.h"

#include <thread>

#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/nn.h>

#include "larmor/base/error.h"
#include "larmor/device/autocast.h"
#include "larmor/device/draw_position.h"
#include "larmor/device/initialisation.h"
#include "larmor/device/rank_sum.h"
#include "larmor/kernels/draw/draw.h"

namespace larmor::testing {
namespace {

/// A block with all that a rerun may get wrong: running statistics, drawn noise, a weight used twice.
struct NoisyBlockImpl final : torch::nn::Module {
  explicit NoisyBlockImpl(int64_t channels) {
    conv = register_module("conv",
                           torch::nn::Conv3d(torch::nn::Conv3dOptions(channels, channels, 3).padding(1)));
    norm = register_module("norm", torch::nn::BatchNorm3d(channels));
  }
  at::Tensor forward(const at::Tensor& input) {
    runs += 1;
    const at::Tensor once = torch::silu(norm(conv(input)));
    return input + conv(once) + 0.1 * draw_normal_like(input, "block");
  }
  torch::nn::Conv3d conv{nullptr};
  torch::nn::BatchNorm3d norm{nullptr};
  int runs = 0;
};
TORCH_MODULE(NoisyBlock);

struct Net {
  Net() {
    const SeededInitialisation seeded(3);
    first = torch::nn::Conv3d(torch::nn::Conv3dOptions(1, 4, 3).padding(1));
    one = NoisyBlock(4);
    two = NoisyBlock(4);
  }
  at::Tensor loss(const at::Tensor& batch) {
    at::Tensor value = nn::run_block(first, batch);
    for (const auto& [turn, block] : {std::pair(0, &one), std::pair(1, &two), std::pair(2, &one)}) {
      const DrawTurn draws(turn);  // all of them draw for one purpose
      value = nn::run_block(*block, value);
    }
    return value.square().mean();
  }
  std::vector<at::Tensor> parameters() const {
    std::vector<at::Tensor> all;
    for (const auto* const module : {static_cast<const torch::nn::Module*>(first.get()),
                                     static_cast<const torch::nn::Module*>(one.get()),
                                     static_cast<const torch::nn::Module*>(two.get())}) {
      for (const auto& parameter : module->parameters()) all.push_back(parameter);
    }
    return all;
  }
  std::vector<at::Tensor> gradients() const {
    std::vector<at::Tensor> all;
    for (const auto& parameter : parameters()) all.push_back(parameter.grad().clone());
    return all;
  }
  torch::nn::Conv3d first{nullptr};
  NoisyBlock one{nullptr}, two{nullptr};
};

at::Tensor some_batch() { return torch::arange(2 * 216, at::kFloat).sin().view({2, 1, 6, 6, 6}); }

DrawPosition two_examples() { return {.seed = 9, .epochs = {1, 1}, .examples = {4, 7}}; }

/// Forward as the trainer runs it: draw position, precision and recomputation end before backward.
at::Tensor loss_of(Net& net, Recompute recompute, Precision precision = Precision::fp32) {
  const DrawScope draws(two_examples());
  const AutocastScope autocast(c10::kCPU, precision);
  const RecomputeScope scope(recompute);
  return net.loss(some_batch());
}

void expect_same(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(torch::equal(a[i], b[i])) << "tensor " << i;
}

class Recomputation : public ::testing::TestWithParam<std::tuple<Recompute, Precision>> {};
INSTANTIATE_TEST_SUITE_P(Of, Recomputation,
                         ::testing::Combine(::testing::Values(Recompute::blocks, Recompute::all),
                                            ::testing::Values(Precision::fp32, Precision::bf16)));

TEST_P(Recomputation, ChangesNoBitOfGradientsAndRunningStatistics) {
  const auto [recompute, precision] = GetParam();
  Net plain, recomputed;
  loss_of(plain, Recompute::none, precision).backward();
  loss_of(recomputed, recompute, precision).backward();
  expect_same(recomputed.gradients(), plain.gradients());
  expect_same(recomputed.one->buffers(), plain.one->buffers());
  EXPECT_EQ(plain.one->runs, 2);
  EXPECT_EQ(recomputed.one->runs, 4) << "nothing was computed again";
}

TEST(RunRecomputed, GivesTheSameSecondTime) {
  Net plain, recomputed;
  const at::Tensor a = loss_of(plain, Recompute::none), b = loss_of(recomputed, Recompute::blocks);
  for (int time = 0; time < 2; ++time) {
    a.backward({}, /*retain_graph=*/true);
    b.backward({}, /*retain_graph=*/true);
  }
  expect_same(recomputed.gradients(), plain.gradients());
}

TEST(RunRecomputed, GivesTheGradientOfAWeightWithinABlock) {
  Net plain, recomputed;
  const auto of = [](Net& net, Recompute recompute) {
    return torch::autograd::grad({loss_of(net, recompute)}, {net.two->conv->weight}).front();
  };
  EXPECT_TRUE(torch::equal(of(recomputed, Recompute::blocks), of(plain, Recompute::none)));
}

TEST(RunRecomputed, TeachesNothingThatWasFrozenInForward) {
  Net net;
  for (auto& parameter : net.two->parameters()) parameter.requires_grad_(false);
  const at::Tensor loss = loss_of(net, Recompute::blocks);
  for (auto& parameter : net.two->parameters()) parameter.requires_grad_(true);
  loss.backward();
  for (const auto& parameter : net.two->parameters()) {
    EXPECT_FALSE(parameter.grad().defined());
    EXPECT_TRUE(parameter.requires_grad()) << "the rerun has to put the flag back";
  }
  EXPECT_TRUE(net.one->conv->weight.grad().defined());
}

TEST(RunRecomputed, LeavesTheThreadAsItWas) {
  Net net;
  const at::Tensor loss = loss_of(net, Recompute::all, Precision::bf16);
  const DrawScope other({.seed = 1, .epochs = {0}, .examples = {2}});
  loss.backward();
  EXPECT_EQ(draw_position().seed, 1U);
  EXPECT_EQ(recompute_here(), Recompute::none);
  EXPECT_FALSE(AutocastState::now().enabled[0]);
  EXPECT_EQ(rank_sum(), nullptr);
}

/// Weights of one block that are there only while it runs through this.
struct LendingKeeper final : WeightKeeper {
  bool keeps(const torch::nn::Module& block) const override { return &block == kept; }
  BlockFunction with_weights(const torch::nn::Module&, BlockFunction run) override {
    return [this, run = std::move(run)](const std::vector<at::Tensor>& inputs) {
      are_there = true;
      auto outputs = run(inputs);
      are_there = false;
      return outputs;
    };
  }
  void expect_backward(const torch::nn::Module&, const std::vector<at::Tensor>&,
                       const std::vector<at::Tensor>&) override {}
  const torch::nn::Module* kept = nullptr;
  bool are_there = false;
};

struct LentBlockImpl final : torch::nn::Module {
  explicit LentBlockImpl(const LendingKeeper& lender) : keeper(lender) {
    linear = register_module("linear", torch::nn::Linear(4, 4));
  }
  at::Tensor forward(const at::Tensor& input) {
    EXPECT_TRUE(keeper.are_there) << "the block runs without its weights";
    return linear(input);
  }
  const LendingKeeper& keeper;
  torch::nn::Linear linear{nullptr};
};
TORCH_MODULE(LentBlock);

struct BlockOfABlockImpl final : torch::nn::Module {
  explicit BlockOfABlockImpl(const LendingKeeper& keeper) {
    inner = register_module("inner", LentBlock(keeper));
  }
  at::Tensor forward(const at::Tensor& input) { return nn::run_block(inner, input.square()).square(); }
  LentBlock inner{nullptr};
};
TORCH_MODULE(BlockOfABlock);

TEST(RunRecomputed, FindsTheKeepersOfWeightsOnAnotherThread) {
  LendingKeeper keeper;
  const BlockOfABlock outer(keeper);
  keeper.kept = outer->inner.get();
  const WeightKeeperScope attached(keeper);
  const RecomputeScope recompute(Recompute::all);
  const at::Tensor loss = nn::run_block(outer, torch::ones({2, 4}, torch::requires_grad())).sum();
  std::thread([&] { loss.backward(); }).join();  // as autograd's thread of a GPU
  EXPECT_TRUE(outer->inner->linear->weight.grad().defined());
}

TEST(RunRecomputed, FreesWhatABlockWouldKeep) {
  // The saved input of `square` is the only way to the storage, once the block is through.
  std::weak_ptr<int> alive;
  const at::Tensor input = torch::ones({4}, torch::requires_grad());
  at::Tensor output;
  {
    const auto token = std::make_shared<int>(0);
    alive = token;
    const BlockFunction block = [token](const std::vector<at::Tensor>& in) {
      static thread_local std::vector<float> memory(4, 2.0F);
      const at::Tensor inner = torch::from_blob(memory.data(), {4}, [held = token](void*) {}) * 1;
      return std::vector<at::Tensor>{(in[0] * inner).square()};
    };
    output = run_recomputed(block, {input}, {}, {}).front();
  }
  EXPECT_FALSE(alive.expired()) << "the block itself is kept for the rerun";
  output.sum().backward();
  EXPECT_TRUE(torch::equal(input.grad(), torch::full({4}, 8.0F)));
  output = at::Tensor();
  EXPECT_TRUE(alive.expired());
}

TEST(RunRecomputed, RefusesABlockThatDoesNotRepeatItself) {
  int runs = 0;
  const BlockFunction block = [&runs](const std::vector<at::Tensor>& in) {
    return std::vector<at::Tensor>{runs++ == 0 ? in[0].square() : in[0].narrow(0, 0, 2).square().repeat(2)};
  };
  const at::Tensor input = torch::ones({4}, torch::requires_grad());
  const at::Tensor output = run_recomputed(block, {input}, {}, {}).front();
  EXPECT_THROW(output.sum().backward(), Error);
}

TEST(RunRecomputed, RunsOnceWhereNothingLearns) {
  int runs = 0;
  const BlockFunction block = [&runs](const std::vector<at::Tensor>& in) {
    runs += 1;
    return std::vector<at::Tensor>{in[0].square()};
  };
  run_recomputed(block, {torch::ones({4})}, {}, {});
  EXPECT_EQ(runs, 1);
}

}  // namespace
}  // namespace larmor::testing
