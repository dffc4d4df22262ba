#include <functional>
#include <stdexcept>
#include <utility>

#include <ATen/core/Tensor.h>
#include <gtest/gtest.h>

#include "larmor/parallel/parallelism.h"

#include "tests/support/scope_contract.h"

namespace larmor::testing {
namespace {

/// What the scopes ask for, each as a count: a second average would take the first one's for live weights.
class Counted final : public Parallelism {
 public:
  void hold_whole_network() override { ++whole; }
  void let_whole_network_go() override { --whole; }
  void use_average() override {
    ++averaged;
    if (fails) throw std::runtime_error("a peer is lost");
  }
  void use_live() override { --averaged; }
  bool has_average() const override { return true; }

  void backward(const at::Tensor&, bool, const Votes&) override {}
  void receive(const std::vector<at::Tensor>&, bool, const Votes&) override {}
  bool fail_step(const Votes&) override { return true; }
  at::Tensor reduce() override { return {}; }
  Reduced read_reduced(const at::Tensor&) override { return {}; }
  void step(double) override {}
  void skip() override {}
  void forget() override {}
  void share_buffers() override {}
  double loss_scale() const override { return 1; }
  NamedTensors weights() override { return {}; }
  NamedTensors average() override { return {}; }
  void load_weights(const NamedTensors&) override {}
  void save(StateWriter&) const override {}
  void load(const StateReader&) override {}

  int whole = 0, averaged = 0;
  bool fails = false;
};

struct WholeNetworks {
  int state() { return parallelism_.whole; }
  void within(int /*which*/, const std::function<void()>& work) {
    const WholeNetwork scope(parallelism_);
    EXPECT_EQ(parallelism_.whole, 1);
    work();
  }
  Counted parallelism_;
};

struct Averages {
  int state() { return parallelism_.averaged; }
  void within(int /*which*/, const std::function<void()>& work) {
    const AveragedWeights scope(parallelism_);
    EXPECT_EQ(parallelism_.averaged, 1);
    work();
  }
  Counted parallelism_;
};

using Kinds = ::testing::Types<WholeNetworks, Averages>;
INSTANTIATE_TYPED_TEST_SUITE_P(Parallel, ScopeContract, Kinds);

TEST(AveragedWeightsThatCannotBeHad, GiveTheLiveOnesBack) {
  Counted parallelism;
  parallelism.fails = true;
  EXPECT_THROW(AveragedWeights{parallelism}, std::runtime_error);
  EXPECT_EQ(parallelism.averaged, 0);
  parallelism.fails = false;
  const AveragedWeights again(parallelism);
  EXPECT_EQ(parallelism.averaged, 1);
}

}  // namespace
}  // namespace larmor::testing
