#include "larmor/nn/frozen.h"

#include <functional>
#include <stdexcept>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/linear.h>

#include "tests/support/scope_contract.h"

namespace larmor::nn {
namespace {

TEST(Frozen, LetsGradientsThroughAndKeepsNone) {
  torch::nn::Linear critic(3, 1);
  at::Tensor input = at::ones({2, 3}).set_requires_grad(true);
  {
    const Frozen frozen(*critic);
    critic->forward(input).sum().backward();
  }
  EXPECT_TRUE(at::allclose(input.grad(), critic->weight.detach().expand({2, 3})));
  EXPECT_FALSE(critic->weight.grad().defined());
  EXPECT_FALSE(critic->bias.grad().defined());
}

TEST(Frozen, NeedNotLastUntilBackward) {
  torch::nn::Linear critic(3, 1);
  at::Tensor input = at::ones({2, 3}).set_requires_grad(true);
  at::Tensor through;
  {
    const Frozen frozen(*critic);
    through = critic->forward(input).sum();
  }
  const at::Tensor own = critic->forward(input.detach()).sum();
  through.backward();
  EXPECT_TRUE(input.grad().defined());
  EXPECT_FALSE(critic->weight.grad().defined());
  own.backward();
  EXPECT_TRUE(critic->weight.grad().defined());
}

TEST(Frozen, RestoresEachFlagAsItWas) {
  torch::nn::Linear critic(3, 1);
  critic->bias.set_requires_grad(false);
  {
    const Frozen outer(*critic);
    EXPECT_FALSE(critic->weight.requires_grad());
    {
      const Frozen inner(*critic);
    }
    EXPECT_FALSE(critic->weight.requires_grad());
  }
  EXPECT_TRUE(critic->weight.requires_grad());
  EXPECT_FALSE(critic->bias.requires_grad());
}

TEST(Frozen, RestoresAfterAnException) {
  torch::nn::Linear critic(3, 1);
  EXPECT_THROW(
      {
        const Frozen frozen(*critic);
        throw std::runtime_error("inside");
      },
      std::runtime_error);
  EXPECT_TRUE(critic->weight.requires_grad());
}

struct FrozenNetwork {
  FrozenNetwork() { network_->bias.set_requires_grad(false); }
  std::vector<bool> state() { return {network_->weight.requires_grad(), network_->bias.requires_grad()}; }
  void within(int /*which*/, const std::function<void()>& work) {
    const Frozen scope(*network_);
    work();
  }
  torch::nn::Linear network_{2, 1};
};

}  // namespace
}  // namespace larmor::nn

namespace larmor::testing {
INSTANTIATE_TYPED_TEST_SUITE_P(Nn, ScopeContract, nn::FrozenNetwork);
}  // namespace larmor::testing
