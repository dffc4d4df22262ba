// LPIPS against the reference implementation, and slices of volumes against plain loops.
#include "larmor/nn/losses/lpips.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/device/draw_position.h"
#include "larmor/device/module_state.h"

#include "tests/nn/support/golden.h"
#include "tests/support/card/device_of_tests.h"

namespace larmor::testing {
namespace {

using ::testing::HasSubstr;

/// The trunk filled by the rule, as the reference's was.
std::shared_ptr<nn::Lpips> filled(const Golden& golden, at::ScalarType type) {
  auto lpips = std::make_shared<nn::Lpips>();
  torch::nn::Module trunk;  // without the linear layers, which are the published ones already
  trunk.register_module("features", lpips->named_children()["features"]);
  rule_fill_as(trunk, golden, type);
  lpips->to(device_of_tests(), type);
  return lpips;
}

class LpipsGolden : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    golden_ = Golden::shared("lpips");
    if (!golden_) GTEST_SKIP() << "the larger reference tensors are not here";
  }
  /// Distances at the taps, and the gradients of their sum by both images.
  std::array<at::Tensor, 3> run(at::ScalarType type) const {
    const auto lpips = filled(*golden_, type);
    const auto a = golden_->at(GetParam() + "/input/a").to(type).requires_grad_();
    const auto b = golden_->at(GetParam() + "/input/b").to(type).requires_grad_();
    const auto taps = lpips->per_tap(a, b);
    lpips->distance(a, b).sum().backward();
    return {taps, a.grad(), b.grad()};
  }

  std::optional<Golden> golden_;
};

TEST_P(LpipsGolden, TapsAndGradientsAreTheReferences) {
  const auto wide = run(at::kDouble), narrow = run(at::kFloat);
  const std::array<std::string, 3> keys{"/out/per_tap", "/grad/a", "/grad/b"};
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto expected = golden_->at(GetParam() + keys[i]);
    EXPECT_LE(relative_l2(wide[i], expected), 1e-6) << keys[i];
    EXPECT_LE(largest_difference(narrow[i], wide[i]), golden_->allowed_in_float32(GetParam() + keys[i]))
        << keys[i];
  }
  EXPECT_LE(relative_l2(wide[0].sum(1), golden_->at(GetParam() + "/out/distance")), 1e-6);
}

INSTANTIATE_TEST_SUITE_P(Images, LpipsGolden, ::testing::Values("rgb", "grey"));

TEST(Lpips, HasTheTrunkOfSqueezeNetAndLearnsNothing) {
  const nn::Lpips lpips;
  EXPECT_EQ(parameter_count(lpips), 722'496);
  for (const auto& parameter : lpips.parameters()) EXPECT_FALSE(parameter.requires_grad());
  const nn::Lpips again;
  EXPECT_TRUE(at::equal(lpips.parameters().front(), again.parameters().front())) << "always the same numbers";
}

TEST(Lpips, OfEqualImagesIsZeroAndOfOthersIsNot) {
  nn::Lpips lpips;
  const auto image = at::rand({2, 1, 24, 17}), other = at::rand({2, 1, 24, 17});
  EXPECT_EQ(lpips.distance(image, image).abs().max().item<double>(), 0);
  EXPECT_GT(lpips.distance(image, other).min().item<double>(), 1e-6);
}

TEST(Lpips, TakesTheTrunkOfAFileAndSaysWhatItLacks) {
  const ScratchFolder scratch;
  DiskStorage storage;
  nn::Lpips lpips;
  NamedTensors trunk;
  for (const auto& [name, tensor] : state_dict(lpips)) {
    if (name.starts_with("features.")) trunk[name] = at::full_like(tensor, 0.01);
  }
  trunk["classifier.1.weight"] = at::ones({3});  // torchvision's file has a classifier, too
  write_tensors(storage, scratch.path() / "whole.safetensors", trunk);
  lpips.read_weights((scratch.path() / "whole.safetensors").string());
  EXPECT_FLOAT_EQ(lpips.parameters().front().max().item<float>(), 0.01F);
  trunk.erase("features.0.bias");
  write_tensors(storage, scratch.path() / "cut.safetensors", trunk);
  try {
    lpips.read_weights((scratch.path() / "cut.safetensors").string());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::usage);
    EXPECT_THAT(error.message(), HasSubstr("holds no features.0."));
  }
}

DrawPosition position_of(std::vector<int64_t> examples) {
  return {.seed = 3, .epochs = std::vector<int64_t>(examples.size(), 0), .examples = std::move(examples)};
}

TEST(SliceDistance, OfAllSlicesIsTheSumOfTheMeansAcrossTheThreeAxes) {
  nn::Lpips lpips;
  const auto volume = at::rand({1, 2, 18, 20, 17}), target = at::rand({1, 2, 18, 20, 17});
  const DrawScope scope(position_of({4}));
  const auto distance = nn::slice_distance(lpips, volume, target, /*share=*/1);
  double expected = 0;
  for (int64_t axis = 2; axis < 5; ++axis) {
    double sum = 0;
    for (int64_t slice = 0; slice < volume.size(axis); ++slice) {
      for (int64_t channel = 0; channel < 2; ++channel) {
        const auto image = [&](const at::Tensor& from) {
          return from.select(axis, slice).select(1, channel).unsqueeze(1);
        };
        sum += lpips.distance(image(volume), image(target)).item<double>();
      }
    }
    expected += sum / static_cast<double>(2 * volume.size(axis));
  }
  EXPECT_NEAR(distance.item<double>(), expected, 1e-5 * expected);
}

TEST(SliceDistance, DrawsTheSameSlicesOfAnExampleWhateverItIsBatchedWith) {
  nn::Lpips lpips;
  const auto volumes = at::rand({2, 1, 20, 20, 20}), targets = at::rand({2, 1, 20, 20, 20});
  const auto of = [&](const at::Tensor& volume, const at::Tensor& target, std::vector<int64_t> examples) {
    const DrawScope scope(position_of(std::move(examples)));
    return nn::slice_distance(lpips, volume, target, 0.2);
  };
  const auto both = of(volumes, targets, {7, 9});
  for (int64_t row = 0; row < 2; ++row) {
    const auto alone = of(volumes.narrow(0, row, 1), targets.narrow(0, row, 1), {row == 0 ? 7 : 9});
    EXPECT_NEAR(alone.item<double>() / both[row].item<double>(), 1, 1e-5);
  }
  EXPECT_NE(of(volumes.narrow(0, 0, 1), targets.narrow(0, 0, 1), {8}).item<double>(), both[0].item<double>());
}

}  // namespace
}  // namespace larmor::testing
