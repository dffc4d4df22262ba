#include "larmor/device/life_sign.h"

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <torch/nn.h>

#include "larmor/device/run_block.h"

namespace larmor::testing {
namespace {

struct CountedSigns final : LifeSign {
  void show() override { ++shown; }
  std::atomic<int> shown = 0;
};

TEST(LifeSign, IsShownOnlyWhereSomebodyWatches) {
  CountedSigns outer, inner;
  show_life();
  {
    const LifeSignScope watched(&outer);
    show_life();
    {
      const LifeSignScope closer(&inner);
      show_life();
      show_life();
    }
    {
      const LifeSignScope closed(nullptr);
      show_life();
    }
    std::thread(show_life).join();
    EXPECT_EQ(life_sign(), &outer);
  }
  EXPECT_EQ(life_sign(), nullptr);
  EXPECT_EQ(outer.shown, 1);
  EXPECT_EQ(inner.shown, 2);
}

/// A block that notes how many signs there have been whenever it is at work.
struct NotingImpl final : torch::nn::Module {
  explicit NotingImpl(CountedSigns& all) : signs(all) {
    weight = register_parameter("weight", torch::full({1}, 2.0));
  }
  at::Tensor forward(const at::Tensor& value) {
    seen.push_back(signs.shown);
    if (fails) throw std::runtime_error("no such voxel");
    return (value * weight).sin();
  }
  CountedSigns& signs;
  at::Tensor weight;
  std::vector<int> seen;
  bool fails = false;
};
TORCH_MODULE(Noting);

class LifeOfBlocks : public ::testing::TestWithParam<Recompute> {
 protected:
  at::Tensor forward() {
    const RecomputeScope recompute(GetParam());
    return nn::run_block(second_, nn::run_block(first_, torch::ones({3})));
  }

  CountedSigns signs_;
  LifeSignScope scope_{&signs_};
  Noting first_{signs_}, second_{signs_};
};

TEST_P(LifeOfBlocks, IsShownAfterEachBlockForwardAndBackward) {
  const auto out = forward();
  EXPECT_EQ(signs_.shown, 2);
  const bool again = GetParam() != Recompute::none;
  out.sum().backward();
  // Backward comes to each output, and through each block that it has to compute again.
  EXPECT_EQ(signs_.shown, 2 + 2 + (again ? 2 : 0));
  EXPECT_EQ(first_->seen, (again ? std::vector{0, 5} : std::vector{0}));
  EXPECT_EQ(second_->seen, (again ? std::vector{1, 3} : std::vector{1}));
}

TEST_P(LifeOfBlocks, IsShownWhereBackwardRunsOnAnotherThread) {
  const auto out = forward();
  std::thread([&out] { out.sum().backward(); }).join();
  EXPECT_EQ(signs_.shown, GetParam() == Recompute::none ? 4 : 6);
}

TEST_P(LifeOfBlocks, IsNotShownByABlockThatFails) {
  second_->fails = true;
  EXPECT_THROW(forward(), std::runtime_error);
  EXPECT_EQ(signs_.shown, 1);
}

TEST_P(LifeOfBlocks, IsShownWithoutAGraph) {
  const torch::NoGradGuard no_graph;
  forward();
  EXPECT_EQ(signs_.shown, 2);
}

TEST_P(LifeOfBlocks, ChangesNoBit) {
  const auto gradients = [&](LifeSign* sign) {
    const LifeSignScope here(sign);
    for (auto* block : {&first_, &second_}) (*block)->zero_grad();
    forward().square().sum().backward();
    return torch::cat({first_->weight.grad().clone(), second_->weight.grad().clone()});
  };
  EXPECT_TRUE(torch::equal(gradients(&signs_), gradients(nullptr)));
}

INSTANTIATE_TEST_SUITE_P(Recomputed, LifeOfBlocks,
                         ::testing::Values(Recompute::none, Recompute::blocks, Recompute::all),
                         [](const auto& chosen) {
                           return chosen.param == Recompute::none     ? "None"
                                  : chosen.param == Recompute::blocks ? "Blocks"
                                                                      : "All";
                         });

struct PassImpl final : torch::nn::Module {
  at::Tensor forward(const at::Tensor& value) { return value; }
};
TORCH_MODULE(Pass);

TEST(LifeSign, LeavesNoHookOnWhatNobodyComputed) {
  CountedSigns signs;
  Pass pass;
  const auto leaf = torch::ones({1}, torch::requires_grad());
  {
    const LifeSignScope scope(&signs);
    nn::run_block(pass, leaf);
  }
  leaf.sum().backward();
  EXPECT_EQ(signs.shown, 1);
}

}  // namespace
}  // namespace larmor::testing
