#include "larmor/nn/sliding_window.h"

#include <set>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/device/heartbeat.h"

#include "tests/nn/support/golden.h"

namespace larmor::nn {
namespace {

at::Tensor same(const at::Tensor& window) { return window.clone(); }

TEST(SlidingWindow, GivesBackTheImageWhenNothingIsChanged) {
  for (const auto& sizes :
       std::vector<std::vector<int64_t>>{{1, 2, 20, 17, 9}, {1, 1, 8, 8, 8}, {1, 3, 21, 13}}) {
    const at::Tensor image = testing::rule_input("image", sizes, 0, 1);
    const std::vector<int64_t> window(sizes.size() - 2, 8);
    for (const double overlap : {0.0, 0.25, 0.6}) {
      const at::Tensor result = sliding_window(image, window, overlap, same);
      ASSERT_EQ(result.sizes(), image.sizes());
      EXPECT_LE(testing::largest_difference(result, image), 1e-12);
    }
  }
}

TEST(SlidingWindow, VisitsTheWindowsOfTheReferencesScan) {
  const at::Tensor image = at::arange(20, at::kDouble).view({1, 1, 20, 1});
  std::vector<int64_t> starts;
  sliding_window(image, {8, 1}, 0.25, [&](const at::Tensor& window) {
    starts.push_back(window.flatten()[0].item<int64_t>());
    return window;
  });
  EXPECT_EQ(starts, (std::vector<int64_t>{0, 6, 12}));
}

TEST(SlidingWindow, WeighsTheMiddleOfAWindowMost) {
  // Windows at 0 and 4 of 8 voxels: each predicts its own number; voxel 5 is nearer to the middle of the
  // second.
  const at::Tensor image = at::zeros({1, 1, 12, 1}, at::kDouble);
  double number = 0;
  const at::Tensor result = sliding_window(
      image, {8, 1}, 0.5, [&](const at::Tensor& window) { return at::full_like(window, number++); });
  const auto weight = [](double offset) { return std::max(std::exp(-offset * offset / 2), 1e-3); };
  for (int64_t voxel = 4; voxel < 8; ++voxel) {
    const double first = weight(static_cast<double>(voxel) - 3.5),
                 second = weight(static_cast<double>(voxel) - 7.5);
    EXPECT_NEAR(result[0][0][voxel][0].item<double>(), second / (first + second), 1e-9);
  }
}

TEST(SlidingWindow, PadsShortAxesAtBothEndsAndCutsThem) {
  const at::Tensor image = testing::rule_input("image", {1, 1, 5, 8, 8}, 0, 1);
  const at::Tensor result = sliding_window(image, {8, 8, 8}, 0.25, [&](const at::Tensor& window) {
    EXPECT_EQ(window.sizes().vec(), (std::vector<int64_t>{1, 1, 8, 8, 8}));
    EXPECT_EQ(window.narrow(2, 0, 1).abs().max().item<double>(), 0);
    EXPECT_TRUE(at::equal(window.narrow(2, 1, 5), image));
    return window * 2;
  });
  EXPECT_LE(testing::largest_difference(result, image * 2), 1e-12);
}

TEST(SlidingWindow, TakesOtherChannelsAndTellsProgress) {
  std::vector<double> shares;
  const at::Tensor result = sliding_window(
      at::ones({1, 1, 16, 16, 16}), {8, 8, 8}, 0,
      [](const at::Tensor& window) { return at::cat({window, window, -window}, 1); },
      [&](double share) { shares.push_back(share); });
  EXPECT_EQ(result.size(1), 3);
  EXPECT_EQ(shares.size(), 8U);
  EXPECT_EQ(shares.back(), 1);
  EXPECT_TRUE(std::ranges::is_sorted(shares));
}

TEST(SlidingWindow, ShowsLifeAfterEachWindow) {
  struct Count final : Heartbeat {
    void show() override { ++signs; }
    int signs = 0;
  } count;
  int windows = 0;
  const HeartbeatScope scope(&count);
  sliding_window(at::ones({1, 1, 16, 8, 8}), {8, 8, 8}, 0.5, [&](const at::Tensor& window) {
    EXPECT_EQ(count.signs, windows++) << "nothing while it is at work";
    return window;
  });
  EXPECT_EQ(windows, 3);
  EXPECT_EQ(count.signs, 3);
}

TEST(SlidingWindow, RefusesWindowsOfNoSense) {
  const at::Tensor image = at::zeros({1, 1, 8, 8, 8});
  EXPECT_THROW(sliding_window(image, {8, 8}, 0.25, same), Error);
  EXPECT_THROW(sliding_window(image, {8, 8, 0}, 0.25, same), Error);
  EXPECT_THROW(sliding_window(image, {8, 8, 8}, 1, same), Error);
}

}  // namespace
}  // namespace larmor::nn
