#include "larmor/judge/class_figures.h"

#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/judge/support/cases_of_patients.h"

namespace larmor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

constexpr double none = std::numeric_limits<double>::quiet_NaN();
const std::vector<std::string> organs{"liver", "tumour", "spleen"};

/// Keeps what it is told, as a split does.
class KeptValues final : public Metrics {
 public:
  explicit KeptValues(int64_t patients, ValidationDepth depth = ValidationDepth::full)
      : patients_(patients, depth) {}
  void value(const std::string& name, int64_t example, double value) override {
    cases[name].emplace_back(example, value);
  }
  void note(const std::string& name, int64_t example, double value) override {
    this->value(name, example, value);
  }
  void figure(const std::string&, const SplitMetric&) override {}
  void picture(const std::string&, const Image&) override {}
  bool wants_pictures() const override { return false; }
  ValidationDepth depth() const override { return patients_.depth(); }
  std::string patient(int64_t example) const override { return patients_.patient(example); }

  CaseValues cases;

 private:
  testing::CasesOfPatients patients_;
};

TEST(ClassFigures, AreTheMeanOfTheClassesThatACaseHas) {
  KeptValues metrics(/*patients=*/3);
  record_classes(metrics, "dice", 0, organs, std::vector{0.8, 0.4, none});
  record_classes(metrics, "dice", 1, organs, std::vector{0.6, none, none});
  record_classes(metrics, "dice", 2, organs, std::vector{none, none, none});
  EXPECT_THAT(metrics.cases.at("dice"), ElementsAre(Pair(0, ::testing::DoubleEq(0.6)), Pair(1, 0.6)));
  EXPECT_THAT(metrics.cases.at("dice liver"), ElementsAre(Pair(0, 0.8), Pair(1, 0.6)));
  const SplitMetric figure = mean_of_classes(metrics, metrics.cases, "dice", organs);
  EXPECT_DOUBLE_EQ(figure.value, 0.6);
  EXPECT_EQ(figure.parts_by, "class");
  ASSERT_EQ(figure.parts.size(), 3U);
  EXPECT_EQ(figure.parts[0].first, "liver");
  EXPECT_DOUBLE_EQ(figure.parts[0].second, 0.7);
  EXPECT_DOUBLE_EQ(figure.parts[1].second, 0.4);
  EXPECT_TRUE(std::isnan(figure.parts[2].second));
  EXPECT_THAT(figure.undefined_parts, ElementsAre(Pair("spleen", HasSubstr("no case has it"))));
  EXPECT_TRUE(figure.undefined.empty());
}

TEST(ClassFigures, HaveAnIntervalOverPatientsAtFullDepth) {
  for (const auto depth : {ValidationDepth::full, ValidationDepth::quick}) {
    KeptValues metrics(/*patients=*/5, depth);
    for (int64_t i = 0; i < 20; ++i)  // four cases of each patient, all of the patient's own value
      record_classes(metrics, "dice", i, {"liver"}, std::vector{0.5 + 0.1 * static_cast<double>(i % 5)});
    const SplitMetric figure = mean_of_classes(metrics, metrics.cases, "dice", {"liver"});
    EXPECT_NEAR(figure.value, 0.7, 1e-12);
    EXPECT_EQ(figure.interval.has_value(), depth == ValidationDepth::full);
    if (!figure.interval) continue;
    EXPECT_LT(figure.interval->first, 0.65);
    EXPECT_GT(figure.interval->second, 0.75);
  }
}

TEST(ClassFigures, SayWhyThereIsNone) {
  KeptValues metrics(/*patients=*/2);
  const SplitMetric figure = mean_of_classes(metrics, metrics.cases, "dice", organs);
  EXPECT_TRUE(std::isnan(figure.value));
  EXPECT_THAT(figure.undefined, HasSubstr("no case has any of the classes"));
}

}  // namespace
}  // namespace larmor
