#include "workloads/xray_vqa/training/answered_example.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "workloads/xray_vqa/data/question_facts.h"

namespace larmor::xray_vqa {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Keeps what is shown.
class ShownMetrics final : public Metrics {
 public:
  explicit ShownMetrics(Caption of_all) : of_all_(std::move(of_all)) {}
  void value(const std::string&, int64_t, double) override {}
  void note(const std::string&, int64_t, double) override {}
  void figure(const std::string&, const SplitMetric&) override {}
  void picture(const std::string&, const Image&) override {}
  bool wants_pictures() const override { return true; }
  ValidationDepth depth() const override { return ValidationDepth::quick; }
  Caption caption(int64_t) const override { return of_all_; }
  std::string case_name(int64_t) const override { return "study"; }
  void show(const std::string& name, const Panel& frame, PanelCase one) override {
    names.push_back(name);
    frames.push_back(frame);
    cases.push_back(std::move(one));
  }

  std::vector<std::string> names;
  std::vector<Panel> frames;
  std::vector<PanelCase> cases;

 private:
  Caption of_all_;
};

/// Yes or no; white in the upper right corner.
AnsweredExample example_of(int64_t given, int64_t truth) {
  at::Tensor grey = at::zeros({8, 8});
  grey[0][7] = 1;
  at::Tensor saliency = at::zeros({2, 2}, at::kDouble);
  saliency[1][0] = 1;
  return {.image = image_of_grey(grey),
          .saliency = saliency,
          .head = Head::binary,
          .truth = truth,
          .given = {.answer = given, .probability = 0.875}};
}

TEST(AnsweredExample, StandsBesideItsRadiographInWords) {
  ShownMetrics metrics({.words = "Is there \x1b[2J edema?"});
  show_answered(example_of(1, 0), {}, 3, metrics);
  AnsweredExample with_scene = example_of(1, 1);
  with_scene.with_scene = GivenAnswer{.answer = 0, .probability = 0.5};
  show_answered(with_scene, {}, 4, metrics);
  EXPECT_THAT(metrics.names, ElementsAre("examples", "examples"));
  EXPECT_EQ(metrics.cases[0].name, "study");
  EXPECT_THAT(metrics.cases[0].words, ElementsAre("Question (binary): Is there \x1b[2J edema?",
                                                  "Answer: yes (0.88)", "Truth: no", "✗ wrong"))
      << "the panel shows foreign words escaped";
  EXPECT_THAT(metrics.cases[1].words, ElementsAre(HasSubstr("edema"), "Answer: yes (0.88)", "Truth: yes",
                                                  "✓ right", "With the scene: no (0.50)"));
  EXPECT_THAT(metrics.frames[0].note, HasSubstr("the picture and the question alone"));
}

TEST(AnsweredExample, ShowsTheGreysOfTheRadiographAndWhereTheSaliencyIs) {
  ShownMetrics metrics({});
  show_answered(example_of(1, 1), {}, 0, metrics);
  const PanelCase& shown = metrics.cases.at(0);
  ASSERT_EQ(shown.images.size(), 2U);
  EXPECT_TRUE(shown.images[0].overlays.empty());
  ASSERT_EQ(shown.images[1].overlays.size(), 1U);
  const PanelPlane &radiograph = shown.images[0].planes.at(0), &heat = shown.images[1].overlays[0].plane;
  for (std::size_t i = 0; i < radiograph.values.size(); ++i)
    EXPECT_NEAR(radiograph.values[i], i == 7 ? 1 : 0, 1e-5) << i;
  EXPECT_EQ(shown.images[1].planes.at(0).values, radiograph.values);
  EXPECT_THAT(heat.values, ElementsAre(0, 0, 1, 0));
  EXPECT_EQ(metrics.frames[0].scales.at(shown.images[1].overlays[0].scale).colours,
            PanelScale::Colours::heat);
  EXPECT_EQ(metrics.frames[0].unit_of_length, "") << "nobody knows how many millimetres a pixel has";
}

TEST(AnsweredExample, HasTheShapeOfItsFile) {
  for (const auto& [shape, wanted] : {std::pair(2.0, 2.0), {0.8, 0.8}, {0.0, 1.0}}) {
    ShownMetrics metrics({.shape = shape});
    show_answered(example_of(1, 1), {}, 0, metrics);
    const PanelPlane& plane = metrics.cases.at(0).images[0].planes[0];
    const double width = plane.columns * plane.column_width, height = plane.rows * plane.row_height;
    EXPECT_NEAR(width / height, wanted, 1e-9);
    EXPECT_NEAR(std::max(width, height), 1, 1e-9) << "large and small files are shown alike";
  }
}

TEST(AnsweredExample, TakesTheLikeliestAnswer) {
  const GivenAnswer given = given_by(at::tensor({0.0F, 2.0F, 1.0F}));
  EXPECT_EQ(given.answer, 1);
  EXPECT_NEAR(given.probability, std::exp(2) / (1 + std::exp(1) + std::exp(2)), 1e-6);
}

}  // namespace
}  // namespace larmor::xray_vqa
