#include "larmor/device/layout.h"

#include <thread>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/device/recompute.h"

namespace larmor {
namespace {

TEST(LayoutScope, HoldsForItsThreadUntilItsEnd) {
  EXPECT_EQ(layout_here(), Layout::contiguous);
  {
    const LayoutScope outer(Layout::channels_last);
    Layout elsewhere = Layout::channels_last;
    std::thread([&] { elsewhere = layout_here(); }).join();
    EXPECT_EQ(elsewhere, Layout::contiguous);
    {
      const LayoutScope inner(Layout::contiguous);
      EXPECT_EQ(layout_here(), Layout::contiguous);
    }
    EXPECT_EQ(layout_here(), Layout::channels_last);
  }
  EXPECT_EQ(layout_here(), Layout::contiguous);
}

TEST(LayoutScope, IsThereAgainWhenABlockIsComputedAgain) {
  std::vector<Layout> seen;
  const BlockFunction block = [&](const std::vector<at::Tensor>& inputs) -> std::vector<at::Tensor> {
    seen.push_back(layout_here());
    return {(inputs.front() * inputs.front()).sum()};
  };
  const at::Tensor input = at::ones({2}).requires_grad_();
  at::Tensor loss;
  {
    const LayoutScope scope(Layout::channels_last);
    loss = run_recomputed(block, {input}, {}, {}).front();
  }
  loss.backward();
  EXPECT_EQ(seen, std::vector({Layout::channels_last, Layout::channels_last}));
}

}  // namespace
}  // namespace larmor
