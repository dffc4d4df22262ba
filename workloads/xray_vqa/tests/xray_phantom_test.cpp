#include "workloads/xray_vqa/data/xray_phantom.h"

#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

namespace larmor::xray_vqa {
namespace {

constexpr uint64_t phantom_seed = 3;
constexpr int64_t phantom_size = 96;

double brightness_in(const at::Tensor& image, const Box& box) {
  const auto at = [](float share) { return static_cast<int64_t>(share * phantom_size); };
  return image.slice(0, at(box.y1), at(box.y2) + 1)
      .slice(1, at(box.x1), at(box.x2) + 1)
      .mean()
      .item<double>();
}

// The middle half of a box, which is sure to lie in what it is the box of.
Box middle_of(const Box& box) {
  const float width = box.x2 - box.x1, height = box.y2 - box.y1;
  return {box.x1 + width / 4, box.y1 + height / 4, box.x2 - width / 4, box.y2 - height / 4};
}

TEST(XrayPhantom, IsAFunctionOfSeedAndNumber) {
  const auto image = make_xray(phantom_seed, 7, phantom_size);
  EXPECT_TRUE(at::equal(image, make_xray(phantom_seed, 7, phantom_size)));
  EXPECT_FALSE(at::equal(image, make_xray(phantom_seed, 8, phantom_size)));
  EXPECT_FALSE(at::equal(image, make_xray(phantom_seed + 1, 7, phantom_size)));
  EXPECT_GE(image.min().item<float>(), 0);
  EXPECT_LE(image.max().item<float>(), 1);
}

TEST(XrayPhantom, FindingsAreSeenWhereTheTruthSaysSo) {
  int64_t seen = 0;
  for (int64_t number = 0; number < 60; ++number) {
    const auto truth = phantom_truth(phantom_seed, number);
    const auto image = make_xray(phantom_seed, number, phantom_size);
    for (const PhantomFinding& finding : truth.findings) {
      const double bright = brightness_in(image, middle_of(finding.box));
      if (finding.label == 6) {
        EXPECT_GT(bright, 0.6) << "lesion of " << number;
      }
      if (finding.label == 8) {
        EXPECT_GT(bright, 0.5) << "effusion of " << number;
      }
      if (finding.label == 10) {
        EXPECT_LT(bright, 0.2) << "pneumothorax of " << number;
      }
      if (finding.label == 1) {
        EXPECT_GT(bright, 0.6) << "heart of " << number;
      }
      ++seen;
    }
  }
  EXPECT_GT(seen, 60);
}

TEST(XrayPhantom, EveryLabelOccursAndIsMissing) {
  constexpr int64_t studies = 400;
  Labels sums{};
  for (int64_t number = 0; number < studies; ++number) {
    const auto truth = phantom_truth(phantom_seed, number);
    for (std::size_t i = 0; i < sums.size(); ++i) {
      sums[i].value += truth.labels[i].value;
      sums[i].counts = truth.labels[i].counts;
    }
  }
  int64_t counted = 0;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (!sums[i].counts) continue;
    ++counted;
    EXPECT_GT(sums[i].value, studies / 20) << chexpert_names[i];
    EXPECT_LT(sums[i].value, studies * 3 / 5) << chexpert_names[i];
  }
  EXPECT_EQ(counted, 6);
}

TEST(XrayPhantom, NoFindingMeansNoneButADevice) {
  for (int64_t number = 0; number < 100; ++number) {
    const auto truth = phantom_truth(phantom_seed, number);
    bool any = false;
    for (const PhantomFinding& finding : truth.findings) any = any || finding.label != 12;
    EXPECT_EQ(truth.labels[13].value, any ? 0 : 1);
  }
}

TEST(XrayPhantom, WhereTheBodyLiesTellsNothingOfItsFindings) {
  for (int64_t number = 0; number < 50; ++number) {
    const auto anatomy = phantom_truth(phantom_seed, number).anatomy;
    ASSERT_EQ(anatomy.size(), 4u);
    EXPECT_NEAR(anatomy[2].box.x2 - anatomy[2].box.x1, 0.4, 1e-5);
    for (const SceneObject& object : anatomy) {
      EXPECT_EQ(object.entity, 0);
      EXPECT_LT(object.box.x1, object.box.x2);
      EXPECT_LT(object.box.y1, object.box.y2);
      EXPECT_GE(object.box.x1, 0);
      EXPECT_LE(object.box.y2, 1);
    }
  }
}

}  // namespace
}  // namespace larmor::xray_vqa
