#include "larmor/device/heartbeat.h"

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <torch/nn.h>

#include "larmor/device/run_block.h"

namespace larmor::testing {
namespace {

struct CountedSigns final : Heartbeat {
  void show() override { ++shown; }
  std::atomic<int> shown = 0;
};

TEST(Heartbeat, IsShownOnlyWhereSomebodyWatches) {
  CountedSigns outer, inner;
  send_heartbeat();
  {
    const HeartbeatScope watched(&outer);
    send_heartbeat();
    {
      const HeartbeatScope closer(&inner);
      send_heartbeat();
      send_heartbeat();
    }
    {
      const HeartbeatScope closed(nullptr);
      send_heartbeat();
    }
    std::thread(send_heartbeat).join();
    EXPECT_EQ(heartbeat(), &outer);
  }
  EXPECT_EQ(heartbeat(), nullptr);
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

class HeartbeatOfBlocks : public ::testing::TestWithParam<Recompute> {
 protected:
  at::Tensor forward() {
    const RecomputeScope recompute(GetParam());
    return nn::run_block(second_, nn::run_block(first_, torch::ones({3})));
  }

  CountedSigns signs_;
  HeartbeatScope scope_{&signs_};
  Noting first_{signs_}, second_{signs_};
};

TEST_P(HeartbeatOfBlocks, IsShownAfterEachBlockForwardAndBackward) {
  const auto out = forward();
  EXPECT_EQ(signs_.shown, 2);
  const bool again = GetParam() != Recompute::none;
  out.sum().backward();
  // Backward comes to each output, and through each block that it has to compute again.
  EXPECT_EQ(signs_.shown, 2 + 2 + (again ? 2 : 0));
  EXPECT_EQ(first_->seen, (again ? std::vector{0, 5} : std::vector{0}));
  EXPECT_EQ(second_->seen, (again ? std::vector{1, 3} : std::vector{1}));
}

TEST_P(HeartbeatOfBlocks, IsShownWhereBackwardRunsOnAnotherThread) {
  const auto out = forward();
  std::thread([&out] { out.sum().backward(); }).join();
  EXPECT_EQ(signs_.shown, GetParam() == Recompute::none ? 4 : 6);
}

TEST_P(HeartbeatOfBlocks, IsNotShownByABlockThatFails) {
  second_->fails = true;
  EXPECT_THROW(forward(), std::runtime_error);
  EXPECT_EQ(signs_.shown, 1);
}

TEST_P(HeartbeatOfBlocks, IsShownWithoutAGraph) {
  const torch::NoGradGuard no_graph;
  forward();
  EXPECT_EQ(signs_.shown, 2);
}

TEST_P(HeartbeatOfBlocks, ChangesNoBit) {
  const auto gradients = [&](Heartbeat* sign) {
    const HeartbeatScope here(sign);
    for (auto* block : {&first_, &second_}) (*block)->zero_grad();
    forward().square().sum().backward();
    return torch::cat({first_->weight.grad().clone(), second_->weight.grad().clone()});
  };
  EXPECT_TRUE(torch::equal(gradients(&signs_), gradients(nullptr)));
}

INSTANTIATE_TEST_SUITE_P(Recomputed, HeartbeatOfBlocks,
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

TEST(Heartbeat, LeavesNoHookOnWhatNobodyComputed) {
  CountedSigns signs;
  Pass pass;
  const auto leaf = torch::ones({1}, torch::requires_grad());
  {
    const HeartbeatScope scope(&signs);
    nn::run_block(pass, leaf);
  }
  leaf.sum().backward();
  EXPECT_EQ(signs.shown, 1);
}

}  // namespace
}  // namespace larmor::testing
