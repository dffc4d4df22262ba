#include "larmor/device/meta/saved_bytes.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/device/recompute.h"

namespace larmor::testing {
namespace {

constexpr int64_t kilobyte = 1024;

at::Tensor learning_kilobyte() { return at::rand({256}).requires_grad_(); }

TEST(SavedBytes, CountsWhatAGraphKeepsAndForgetsItWithTheGraph) {
  const auto x = learning_kilobyte();
  const SavedBytes saved({x});
  auto y = (x * 2).exp();  // keeps its own output
  EXPECT_EQ(saved.bytes(), kilobyte);
  y = at::Tensor();
  EXPECT_EQ(saved.bytes(), 0);
}

TEST(SavedBytes, CountsAStorageOnceWhoeverKeepsAViewOfIt) {
  const auto x = learning_kilobyte();
  const SavedBytes saved({x});
  const auto y = x + 1;
  const auto squares = y.narrow(0, 0, 10).square().sum() + y.square().sum();
  EXPECT_EQ(saved.bytes(), kilobyte);
}

TEST(SavedBytes, LeavesOutWhatIsThereAnyway) {
  const auto x = learning_kilobyte(), weight = learning_kilobyte();
  const SavedBytes all, others({x, weight.view({16, 16})});
  const auto y = x * weight;
  EXPECT_EQ(others.bytes(), 0);
  EXPECT_EQ(others.bytes_with({y}), kilobyte);
  EXPECT_EQ(others.bytes_with({y, y.view({2, 128}), x, at::Tensor()}), kilobyte);
  const SavedBytes innermost;
  const auto z = x * weight;
  EXPECT_EQ(innermost.bytes(), 2 * kilobyte);
  EXPECT_EQ(all.bytes(), 0) << "the innermost counts";
}

TEST(SavedBytes, CountsAnOutputThatWasSavedOnce) {
  const auto x = learning_kilobyte();
  const SavedBytes saved({x});
  const auto y = x.exp();
  EXPECT_EQ(saved.bytes_with({y}), kilobyte);
}

TEST(SavedBytes, OfARecomputedBlockAreItsInputs) {
  const auto x = learning_kilobyte();
  const BlockFunction block = [](const std::vector<at::Tensor>& in) {
    return std::vector<at::Tensor>{in[0].exp().sin().exp().cos()};
  };
  const SavedBytes saved({x});
  const auto y = x + 1;
  const auto kept = block({y});
  EXPECT_EQ(saved.bytes(), 2 * kilobyte) << "what both exp give";
  const auto recomputed = run_recomputed(block, {y}, {}, {});
  EXPECT_EQ(saved.bytes(), 3 * kilobyte);
}

TEST(SavedBytes, LeavesGradientsAsTheyAre) {
  const auto x = learning_kilobyte();
  const auto loss = [&] { return (x.exp() * x.sin()).square().sum(); };
  loss().backward();
  const auto plain = x.grad().clone();
  x.mutable_grad() = at::Tensor();
  auto value = at::Tensor();
  {
    const SavedBytes saved;
    value = loss();
  }
  value.backward();
  EXPECT_TRUE(x.grad().equal(plain));
}

TEST(SavedBytes, OfTensorsWithoutValuesAreAsMany) {
  const auto x = at::empty({256}, at::kMeta).requires_grad_();
  const SavedBytes saved({x});
  const auto y = at::silu(x * 2).exp();
  EXPECT_EQ(saved.bytes(), 2 * kilobyte);
}

}  // namespace
}  // namespace larmor::testing
