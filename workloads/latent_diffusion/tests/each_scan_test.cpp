#include "workloads/latent_diffusion/scans/each_scan.h"

#include <string>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor::latent_diffusion {
namespace {

/// Images hold the number of their example, labels a hundred more.
class NumberedPairs final : public Dataset {
 public:
  explicit NumberedPairs(bool has_labels) : has_labels_(has_labels) {}
  int64_t size() const override { return 6; }
  int64_t examples_per_case() const override { return 3; }
  std::string name(int64_t example) const override { return text("pair ", example); }
  Caption caption(int64_t example) const override {
    return example == 0 ? Caption() : Caption{.title = text("title ", example)};
  }
  Sample get(const ExampleKey& key) const override {
    Sample sample{{"image", at::full({1}, key.example)}};
    if (has_labels_) sample["label"] = at::full({1}, 100 + key.example);
    return sample;
  }

 private:
  const bool has_labels_;
};

TEST(EachScan, GivesImageAndLabelOfEachPairOneAfterTheOther) {
  const auto scans = each_scan(std::make_unique<NumberedPairs>(/*has_labels=*/true));
  ASSERT_EQ(scans->size(), 12);
  EXPECT_EQ(scans->examples_per_case(), 6);
  for (int64_t example = 0; example < 12; ++example) {
    const Sample sample = scans->get({.seed = 0, .epoch = 0, .example = example});
    ASSERT_EQ(sample.size(), 1U);
    EXPECT_EQ(sample.at("image").item<int64_t>(), example / 2 + example % 2 * 100);
    EXPECT_EQ(scans->name(example), text("pair ", example / 2));
  }
}

TEST(EachScan, TellsThePicturesOfImageAndLabelApart) {
  const auto scans = each_scan(std::make_unique<NumberedPairs>(/*has_labels=*/true));
  EXPECT_EQ(scans->caption(4).title, "title 2");
  EXPECT_EQ(scans->caption(5).title, "title 2 (label)");
}

TEST(EachScan, CallsTheLabelByTheNameOfAPairWithoutATitle) {
  const auto scans = each_scan(std::make_unique<NumberedPairs>(/*has_labels=*/true));
  EXPECT_EQ(scans->caption(0).title, "");
  EXPECT_EQ(scans->caption(1).title, "pair 0 (label)");
}

TEST(EachScan, RefusesWhatIsNoPair) {
  const auto scans = each_scan(std::make_unique<NumberedPairs>(/*has_labels=*/false));
  try {
    scans->get({.seed = 0, .epoch = 0, .example = 0});
    FAIL() << "a sample without a label was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::data);
  }
}

}  // namespace
}  // namespace larmor::latent_diffusion
