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

/// What a network of one convolution makes of a volume: border voxels differ from inner ones.
at::Tensor convolved(const at::Tensor& image) {
  const at::Tensor kernel = testing::rule_input("kernel", {2, 2, 3, 3, 3}, -1, 1);
  return at::conv3d(image, kernel, {}, /*stride=*/1, /*padding=*/1);
}

at::Tensor cut_to(at::Tensor volume, const at::Tensor& like) {
  for (int64_t axis = 2; axis < 5; ++axis) volume = volume.narrow(axis, 0, like.size(axis));
  return volume;
}

TEST(OverWindows, IsOnePassToTheBitWhereAWindowHoldsTheImage) {
  const at::Tensor image = testing::rule_input("image", {1, 2, 9, 12, 7}, 0, 1);
  const at::Tensor whole = cut_to(convolved(padded_to_multiples(image, 4)), image);
  for (const std::vector<int64_t>& size : std::vector<std::vector<int64_t>>{{12, 12, 8}, {96, 96, 96}}) {
    int passes = 0;
    const at::Tensor result = over_windows(image, {.size = size, .divisor = 4}, [&](const at::Tensor& part) {
      EXPECT_EQ(part.sizes().vec(), (std::vector<int64_t>{1, 2, 12, 12, 8}));
      ++passes;
      return convolved(part);
    });
    EXPECT_TRUE(result.equal(whole));
    EXPECT_EQ(passes, 1);
  }
}

/// Windows of 8 of an axis padded to 12 start at 0 and, moved back, at 4; of one of 8 at 0 alone.
TEST(OverWindows, IsTheLoopWrittenByHand) {
  const at::Tensor image = testing::rule_input("image", {1, 2, 11, 8, 12}, 0, 1);
  const at::Tensor padded = padded_to_multiples(image, 4);
  at::Tensor sum = at::zeros_like(padded), weights = at::zeros_like(padded);
  const at::Tensor offset = (at::arange(8, at::kDouble) - 3.5) / (8 * 0.125);
  const at::Tensor bell = at::exp(-offset * offset / 2);
  const at::Tensor weight =
      (bell.view({8, 1, 1}) * bell.view({1, 8, 1}) * bell.view({1, 1, 8})).clamp_min(1e-3);
  for (const int64_t depth : {0, 4}) {
    for (const int64_t width : {0, 4}) {
      const auto part = [&](const at::Tensor& of) { return of.narrow(2, depth, 8).narrow(4, width, 8); };
      part(sum).add_(convolved(part(padded)) * weight);
      part(weights).add_(weight.expand_as(part(weights)));
    }
  }
  const at::Tensor result = over_windows(image, {.size = {8, 8, 8}, .overlap = 0.5, .divisor = 4}, convolved);
  EXPECT_LE(testing::largest_difference(result, cut_to(sum / weights, image)), 1e-12);
}

TEST(OverWindows, GivesARowTheSameBitsWhateverStandsBesideIt) {
  const at::Tensor images = testing::rule_input("images", {3, 2, 10, 9, 12}, 0, 1);
  const Windows windows{.size = {8, 8, 8}, .divisor = 4};
  const at::Tensor together = over_windows(images, windows, convolved);
  ASSERT_EQ(together.sizes(), images.sizes());
  for (int64_t row = 0; row < 3; ++row)
    EXPECT_TRUE(over_windows(images.narrow(0, row, 1), windows, convolved).equal(together.narrow(0, row, 1)));
}

TEST(OverWindows, LooksAtTwoWindowsOnTheMetaDevice) {
  const at::Tensor image = at::empty({1, 1, 512, 512, 512}, at::TensorOptions(at::kMeta));
  int passes = 0;
  const at::Tensor result = over_windows(image, {.size = {32, 32, 32}, .divisor = 4}, [&](const auto& part) {
    ++passes;
    return at::empty_like(part);
  });
  EXPECT_EQ(result.sizes(), image.sizes());
  EXPECT_EQ(passes, 2);
}

}  // namespace
}  // namespace larmor::nn
