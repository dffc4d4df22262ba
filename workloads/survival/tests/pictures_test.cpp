#include "workloads/survival/risk/pictures.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"

#include "workloads/survival/risk/survival_curves.h"
#include "workloads/survival/tests/tables.h"

namespace larmor::survival {
namespace {

using ::testing::ElementsAre;
using testing::Patients;
using testing::random_patients;

std::vector<std::string> names_of(const std::vector<RiskGroup>& groups) {
  std::vector<std::string> names;
  for (const RiskGroup& group : groups) names.push_back(group.name);
  return names;
}

std::size_t pixels_of(const Image& image, const std::array<uint8_t, 3>& colour) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < image.pixels.size(); i += 3)
    count += std::equal(colour.begin(), colour.end(), image.pixels.begin() + static_cast<std::ptrdiff_t>(i));
  return count;
}

constexpr std::array<uint8_t, 3> blue{0, 114, 178}, vermilion{213, 94, 0}, green{0, 158, 115};

TEST(RiskGroups, AreThirdsByAscendingRisk) {
  std::vector<double> risk;
  for (int i = 0; i < 16; ++i) risk.push_back((i * 7) % 16);
  const auto groups = risk_groups(risk);
  EXPECT_THAT(names_of(groups), ElementsAre("low", "middle", "high"));
  double highest = -1;
  std::vector<std::size_t> sizes;
  for (const RiskGroup& group : groups) {
    sizes.push_back(group.rows.size());
    for (const std::size_t row : group.rows) {
      EXPECT_GT(risk[row], highest);
      highest = risk[row];
    }
  }
  EXPECT_THAT(sizes, ElementsAre(5, 5, 6));
}

TEST(RiskGroups, KeepEqualRisksTogether) {
  // The first third would end within the zeros.
  std::vector<double> risk(20, 0);
  for (int i = 0; i < 10; ++i) risk.push_back(1 + i);
  const auto groups = risk_groups(risk);
  ASSERT_THAT(names_of(groups), ElementsAre("middle", "high")) << "nobody is below the zeros";
  EXPECT_EQ(groups[0].rows.size(), 20U);
  EXPECT_EQ(groups[1].rows.size(), 10U);
  EXPECT_EQ(risk_groups(std::vector<double>(50, 2.5)).size(), 1U);
}

TEST(RiskGroups, AreLeftOutWhereTheyAreTooSmall) {
  EXPECT_TRUE(risk_groups({}).empty());
  EXPECT_TRUE(risk_groups(std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}).empty());
  EXPECT_EQ(risk_groups(std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}).size(), 1U);
}

TEST(RiskGroupPicture, HasACurveForEachGroup) {
  const Patients patients = random_patients(4, 90, 2000, 0.4);
  const auto picture = risk_group_picture(patients.log_risk, patients.outcomes, "days");
  ASSERT_TRUE(picture);
  EXPECT_EQ(picture->width, 960);
  for (const auto& colour : {blue, vermilion, green}) EXPECT_GT(pixels_of(*picture, colour), 200U);
}

TEST(RiskGroupPicture, NeedsTwoGroups) {
  const Patients few = random_patients(4, 12, 2000, 0.4);
  EXPECT_FALSE(risk_group_picture(few.log_risk, few.outcomes, "days"));
  const Patients many = random_patients(4, 90, 2000, 0.4);
  EXPECT_FALSE(risk_group_picture(std::vector<double>(90, 0.5), many.outcomes, "days"));
  EXPECT_FALSE(risk_group_picture({}, {}, "days"));
}

TEST(RiskGroupPicture, HidesNoCurveBelowTicks) {
  // 100 patients a group, all but a few of them censored, have their ticks; 150 a group have none, so the
  // picture of more patients has less colour.
  const auto coloured = [](std::size_t rows) {
    const Patients patients = random_patients(4, rows, 2000, 0.1);
    const auto picture = risk_group_picture(patients.log_risk, patients.outcomes, "days");
    return picture ? picture->pixels.size() / 3 - pixels_of(*picture, {255, 255, 255}) : 0;
  };
  EXPECT_GT(coloured(300), coloured(450) + 1000);
}

TEST(RiskGroupPicture, WorksWhereNobodyWasFollowed) {
  const SurvivalOutcomes outcomes{.time = std::vector<double>(20, 0), .event = std::vector<uint8_t>(20, 1)};
  std::vector<double> risk;
  for (int i = 0; i < 20; ++i) risk.push_back(i);
  EXPECT_TRUE(risk_group_picture(risk, outcomes, "years"));
}

// `rows` patients that the prediction is right for: exponential times of a hazard of their own, censored
// at 10.
struct Followed {
  std::vector<double> survival_at_5;
  SurvivalOutcomes outcomes;
};

Followed followed(std::size_t rows) {
  Followed table;
  const double golden_ratio = (std::sqrt(5) - 1) / 2;
  for (std::size_t row = 0; row < rows; ++row) {
    const double hazard = 0.02 + 0.3 * static_cast<double>(row) / static_cast<double>(rows);
    const double uniform = std::fmod(static_cast<double>(row + 1) * golden_ratio, 1.0);
    const double time = -std::log(uniform) / hazard;
    table.survival_at_5.push_back(std::exp(-5 * hazard));
    table.outcomes.time.push_back(std::min(time, 10.0));
    table.outcomes.event.push_back(time < 10 ? 1 : 0);
  }
  return table;
}

TEST(CalibrationGroups, LieOnTheDiagonalWhenThePredictionIsRight) {
  const Followed table = followed(5000);
  const auto groups = calibration_groups(table.survival_at_5, table.outcomes, 5);
  ASSERT_EQ(groups.size(), 5U);
  for (const CalibrationGroup& group : groups) {
    EXPECT_NEAR(group.observed, group.predicted, 0.01);
    EXPECT_EQ(group.patients, 1000U);
  }
  for (std::size_t i = 1; i < 5; ++i) EXPECT_GT(groups[i].predicted, groups[i - 1].predicted + 0.05);
}

TEST(CalibrationGroups, AreWhatOneWorksOutByHand) {
  // Ten of low risk, one event, and ten of high risk: two events, then four censored, then two events of
  // four.
  SurvivalOutcomes outcomes;
  std::vector<double> survival;
  for (int i = 0; i < 10; ++i) {
    outcomes.time.push_back(i == 0 ? 1 : 9);
    outcomes.event.push_back(i == 0 ? 1 : 0);
    survival.push_back(i < 5 ? 0.9 : 0.8);
  }
  for (const double time : {1, 1, 2, 2, 2, 2, 3, 3, 9, 9}) {
    outcomes.time.push_back(time);
    outcomes.event.push_back(time == 1 || time == 3 ? 1 : 0);
    survival.push_back(0.3);
  }
  const auto groups = calibration_groups(survival, outcomes, 4);
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_NEAR(groups[0].predicted, 0.15, 1e-12);
  EXPECT_NEAR(groups[0].observed, 0.1, 1e-12);
  EXPECT_NEAR(groups[1].predicted, 0.7, 1e-12);
  EXPECT_NEAR(groups[1].observed, 1 - 0.8 * 0.5, 1e-12);
  EXPECT_TRUE(calibration_groups(survival, outcomes, 9.5).empty()) << "nobody was followed that far";
}

TEST(CalibrationGroups, KnowThatAGroupWithoutSurvivorsStaysSo) {
  const SurvivalOutcomes outcomes{.time = std::vector<double>(10, 2), .event = std::vector<uint8_t>(10, 1)};
  const auto groups = calibration_groups(std::vector<double>(10, 0.25), outcomes, 7);
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].observed, 1);
}

TEST(CalibrationGroups, AreFewerAmongFewPatients) {
  const Followed some = followed(34);
  EXPECT_EQ(calibration_groups(some.survival_at_5, some.outcomes, 5).size(), 3U);
  const Followed few = followed(9);
  EXPECT_TRUE(calibration_groups(few.survival_at_5, few.outcomes, 5).empty());
  EXPECT_FALSE(calibration_picture(few.survival_at_5, few.outcomes, 5, "5y"));
  EXPECT_TRUE(calibration_groups({}, {}, 5).empty());
}

TEST(CalibrationGroups, RefuseWhatIsNoTable) {
  const Followed table = followed(20);
  const auto groups_at = [&](std::vector<double> survival, double horizon) {
    return calibration_groups(survival, table.outcomes, horizon);
  };
  EXPECT_NO_THROW(groups_at(table.survival_at_5, 5));
  EXPECT_THROW(groups_at(table.survival_at_5, -1), Error);
  EXPECT_THROW(groups_at(std::vector<double>(19, 0.5), 5), Error);
  EXPECT_THROW(groups_at(std::vector<double>(20, 1.5), 5), Error);
  EXPECT_THROW(groups_at(std::vector<double>(20, std::nan("")), 5), Error);
  EXPECT_THROW(risk_group_picture(std::vector<double>(20, std::nan("")), table.outcomes, "years"), Error);
  EXPECT_THROW(risk_group_picture(std::vector<double>(19, 0), table.outcomes, "years"), Error);
}

TEST(CalibrationPicture, ShowsTheGroupsAndTheDiagonal) {
  const Followed table = followed(500);
  const auto picture = calibration_picture(table.survival_at_5, table.outcomes, 5, "5y");
  ASSERT_TRUE(picture);
  EXPECT_GT(pixels_of(*picture, blue), 300U);
  EXPECT_GT(pixels_of(*picture, {120, 120, 120}), 300U);
}

}  // namespace
}  // namespace larmor::survival
