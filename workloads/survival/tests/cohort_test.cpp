#include "workloads/survival/risk/cohort.h"

#include <algorithm>
#include <cmath>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"

#include "workloads/survival/risk/concordance.h"

namespace larmor::survival {
namespace {

std::vector<CohortPatient> patients_of(uint64_t seed, int64_t count) {
  std::vector<CohortPatient> patients;
  for (int64_t number = 0; number < count; ++number) patients.push_back(cohort_patient(seed, number));
  return patients;
}

template <class Read>
at::Tensor column(const std::vector<CohortPatient>& patients, Read read) {
  std::vector<double> values;
  for (const CohortPatient& patient : patients) values.push_back(read(patient));
  return at::tensor(values, at::kDouble);
}

double correlation(const at::Tensor& one, const at::Tensor& other) {
  return at::corrcoef(at::stack({one, other}))[0][1].item<double>();
}

SurvivalOutcomes outcomes_of(const std::vector<CohortPatient>& patients) {
  SurvivalOutcomes outcomes;
  for (const CohortPatient& patient : patients) {
    outcomes.time.push_back(patient.time);
    outcomes.event.push_back(static_cast<uint8_t>(patient.event));
  }
  return outcomes;
}

TEST(CohortPatient, IsAFunctionOfSeedAndNumber) {
  const CohortPatient first = cohort_patient(3, 5), again = cohort_patient(3, 5);
  EXPECT_EQ(first.time, again.time);
  EXPECT_EQ(first.log_risk, again.log_risk);
  EXPECT_EQ(first.lesion_mm, again.lesion_mm);
  EXPECT_NE(first.log_risk, cohort_patient(3, 6).log_risk);
  EXPECT_NE(first.log_risk, cohort_patient(4, 5).log_risk);
}

TEST(CohortPatient, HasAnEventInSixOfTenCases) {
  for (uint64_t seed = 0; seed < 5; ++seed) {
    const auto patients = patients_of(seed, 1000);
    const at::Tensor event = column(patients, [](const CohortPatient& patient) { return patient.event; });
    EXPECT_NEAR(event.mean().item<double>(), 0.63, 0.04) << seed;
    // 150 cases of a validation split are to hold more than 75 events.
    EXPECT_GT(event.unfold(0, 150, 50).sum(1).min().item<double>(), 75) << seed;
  }
}

TEST(CohortPatient, IsFollowedOverWholeDaysOfSevenYears) {
  const auto patients = patients_of(0, 2000);
  outcomes_of(patients).check("the cohort");
  const at::Tensor days = column(patients, [](const CohortPatient& patient) { return patient.time; });
  EXPECT_TRUE(days.equal(days.round()));
  EXPECT_GE(days.min().item<double>(), 34);
  EXPECT_LT(days.min().item<double>(), 60);
  EXPECT_GT(days.max().item<double>(), 2400);
  EXPECT_LE(days.max().item<double>(), 2500);
}

// The index that nobody beats, and nobody reaches by chance.
TEST(CohortPatient, HasATruthWithAKnownConcordance) {
  for (uint64_t seed = 0; seed < 6; ++seed) {
    const auto patients = patients_of(seed, 1500);
    std::vector<double> truth, diameter, density;
    for (const CohortPatient& patient : patients) {
      truth.push_back(patient.log_risk);
      diameter.push_back(patient.diameter_mm);
      density.push_back(patient.density_hu);
    }
    const SurvivalOutcomes outcomes = outcomes_of(patients);
    const double of_truth = harrell_concordance(truth, outcomes).index.value();
    EXPECT_GT(of_truth, 0.80) << seed;
    EXPECT_LT(of_truth, 0.85) << seed;
    // Either half of it does worse: a model has to see both.
    EXPECT_LT(harrell_concordance(diameter, outcomes).index.value(), of_truth - 0.05) << seed;
    EXPECT_LT(harrell_concordance(density, outcomes).index.value(), of_truth - 0.05) << seed;
  }
}

// Within a slice of equal risk the days to the event are Weibull's: their median is where the hazard says.
TEST(CohortPatient, HasTheHazardThatItsRiskSays) {
  const auto patients = patients_of(11, 6000);
  for (const double risk : {0.0, 1.0, 2.0}) {
    const double median = 34 + 1000 * std::exp(-risk / 1.5);
    int64_t early = 0, slice = 0;
    for (const CohortPatient& patient : patients) {
      if (std::abs(patient.log_risk - risk) > 0.25 || patient.follow_up < median) continue;
      ++slice;
      early += patient.time <= median ? 1 : 0;
    }
    ASSERT_GT(slice, 150) << risk;
    EXPECT_NEAR(static_cast<double>(early) / static_cast<double>(slice), 0.5, 0.08) << risk;
  }
}

TEST(CohortPatient, IsCensoredIndependentlyOfTheLesion) {
  const auto patients = patients_of(2, 4000);
  const at::Tensor follow_up =
      column(patients, [](const CohortPatient& patient) { return patient.follow_up; });
  const auto against = [&](auto read) { return correlation(follow_up, column(patients, read)); };
  EXPECT_NEAR(against([](const CohortPatient& patient) { return patient.log_risk; }), 0, 0.05);
  EXPECT_NEAR(against([](const CohortPatient& patient) { return patient.diameter_mm; }), 0, 0.05);
  for (const CohortPatient& patient : patients) {
    EXPECT_LE(patient.time, patient.follow_up);
    if (patient.event == 0) {
      EXPECT_EQ(patient.time, patient.follow_up);
    }
  }
}

TEST(CohortPatient, HasADiameterThatSaysNothingOfTheDensity) {
  const auto patients = patients_of(7, 4000);
  const at::Tensor diameter =
      column(patients, [](const CohortPatient& patient) { return patient.diameter_mm; });
  const at::Tensor density =
      column(patients, [](const CohortPatient& patient) { return patient.density_hu; });
  EXPECT_NEAR(correlation(diameter, density), 0, 0.05);
  const at::Tensor risk = column(patients, [](const CohortPatient& patient) { return patient.log_risk; });
  EXPECT_NEAR(risk.mean().item<double>(), 0, 0.1);
  EXPECT_NEAR(risk.std().item<double>(), 1.78, 0.05);
}

TEST(MakeCohortVolume, IsAFunctionOfSeedNumberAndSize) {
  const Volume first = make_cohort_volume(3, 5, {24, 20, 16});
  EXPECT_EQ(first.voxels.sizes(), (std::vector<int64_t>{1, 24, 20, 16}));
  EXPECT_EQ(first.voxels.scalar_type(), at::kFloat);
  EXPECT_TRUE(make_cohort_volume(3, 5, {24, 20, 16}).voxels.equal(first.voxels));
  EXPECT_FALSE(make_cohort_volume(3, 6, {24, 20, 16}).voxels.equal(first.voxels));
  EXPECT_FALSE(make_cohort_volume(4, 5, {24, 20, 16}).voxels.equal(first.voxels));
}

TEST(MakeCohortVolume, WorksForAnySize) {
  for (const std::vector<int64_t>& size : {std::vector<int64_t>{1, 1, 1}, {64, 3, 1}, {7, 40, 90}}) {
    const Volume volume = make_cohort_volume(1, 0, size);
    EXPECT_TRUE(at::isfinite(volume.voxels).all().item<bool>());
    EXPECT_DOUBLE_EQ(volume.affine[1][1], 160.0 / static_cast<double>(size[1]));
  }
}

TEST(MakeCohortVolume, HoldsHounsfieldUnitsOfABodyInAir) {
  for (int64_t number = 0; number < 8; ++number) {
    const at::Tensor voxels = make_cohort_volume(0, number, {32, 32, 32}).voxels[0];
    EXPECT_NEAR(voxels.slice(0, 0, 3).slice(1, 0, 3).mean().item<double>(), -1000, 5) << "air in the corner";
    EXPECT_GT(voxels.max().item<double>(), 250) << "bone";
    EXPECT_LT(voxels.max().item<double>(), 700);
    const double body = (voxels > -300).to(at::kDouble).mean().item<double>();
    EXPECT_GT(body, 0.25);
    EXPECT_LT(body, 0.45);
  }
}

/// The voxels whose middles lie between two distances (mm) from the lesion's.
at::Tensor voxels_around(const Volume& volume, const CohortPatient& patient, double least, double most) {
  at::Tensor square = at::zeros({1, 1, 1}, at::kDouble);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const int64_t voxels = volume.voxels.size(static_cast<int64_t>(axis) + 1);
    std::vector<int64_t> shape = {1, 1, 1};
    shape[axis] = voxels;
    const at::Tensor places =
        at::arange(voxels, at::kDouble) * volume.affine[axis][axis] + volume.affine[axis][3];
    square = square + (places - patient.lesion_mm[axis]).square().view(shape);
  }
  return volume.voxels[0].masked_select((square >= least * least).logical_and(square < most * most));
}

double mean_around(const Volume& volume, const CohortPatient& patient, double least, double most) {
  return voxels_around(volume, patient, least, most).mean().item<double>();
}

TEST(MakeCohortVolume, ShowsTheLesionWhereAndAsBrightAsThePatientHasIt) {
  for (const int64_t voxels : {24, 32, 64}) {
    for (int64_t number = 0; number < 40; ++number) {
      const CohortPatient patient = cohort_patient(5, number);
      const Volume volume = make_cohort_volume(5, number, {voxels, voxels, voxels});
      const double radius = patient.diameter_mm / 2, edge = 160.0 / static_cast<double>(voxels);
      const double inside = mean_around(volume, patient, 0, std::max(radius - edge / 2, edge));
      const double outside = mean_around(volume, patient, radius + edge, radius + 2 * edge);
      EXPECT_GT(inside - outside, 40) << voxels << ", patient " << number;
      if (patient.diameter_mm > 3 * edge) {
        EXPECT_NEAR(inside, patient.density_hu, 35) << voxels << ", patient " << number;
      }
    }
  }
}

TEST(MakeCohortVolume, KeepsTheLesionClearOfBone) {
  for (int64_t number = 0; number < 40; ++number) {
    const CohortPatient patient = cohort_patient(9, number);
    const Volume volume = make_cohort_volume(9, number, {64, 64, 64});
    const double radius = patient.diameter_mm / 2;
    const at::Tensor shell = voxels_around(volume, patient, radius + 2, radius + 3.5);
    EXPECT_GT(shell.numel(), 100) << "it is cut off by the border";
    EXPECT_LT(shell.max().item<double>(), 250) << number << ": bone";
    EXPECT_GT(shell.mean().item<double>(), -60) << number << ": fat or air";
  }
}

TEST(MakeCohortVolume, ShowsTheSameBodyAtEverySize) {
  const at::Tensor coarse = make_cohort_volume(0, 1, {32, 32, 32}).voxels[0];
  const at::Tensor fine = make_cohort_volume(0, 1, {64, 64, 64}).voxels[0];
  const at::Tensor halved = fine.view({32, 2, 32, 2, 32, 2}).mean(at::IntArrayRef({1, 3, 5}));
  EXPECT_GT(correlation(coarse.flatten(), halved.flatten()), 0.98);
}

TEST(CohortCases, ListPatientsUnderTheirNames) {
  const auto cases = cohort_cases(3, 12, {32, 32, 16});
  ASSERT_EQ(cases.size(), 12U);
  const CohortPatient seventh = cohort_patient(3, 7);
  EXPECT_EQ(cases[7].patient, "cohort-0007");
  EXPECT_EQ(cases[7].files.at("image"), "cohort-0007 (32 x 32 x 16, seed 3)");
  EXPECT_EQ(cases[7].files.size(), 1U);
  EXPECT_EQ(cases[7].values.at("time"), seventh.time);
  EXPECT_EQ(cases[7].values.at("event"), seventh.event);
  EXPECT_EQ(cases[7].values.at("truth"), seventh.log_risk);
  EXPECT_FALSE(cases[7].split.has_value());
}

TEST(CohortCases, HaveTheirNumberInTheirNames) {
  const auto cases = cohort_cases(0, 11, {8, 8, 8});
  for (int64_t number = 0; number < 11; ++number) {
    const ListedCase& entry = cases[static_cast<std::size_t>(number)];
    EXPECT_EQ(cohort_number(entry.patient), number);
    EXPECT_EQ(cohort_number(entry.files.at("image")), number);
  }
  for (const char* name :
       {"", "cohort-", "cohort-x", "cohort--1", "phantom-0001", "cohort-12x", "cohort-99999999999999999999"})
    EXPECT_THROW(cohort_number(name), Error) << name;
}

TEST(CohortCases, AreSortedByNameHoweverMany) {
  const auto cases = cohort_cases(0, 10001, {8, 8, 8});
  EXPECT_EQ(cases.back().patient, "cohort-10000");
  EXPECT_TRUE(std::ranges::is_sorted(cases, {}, [](const ListedCase& entry) { return entry.patient; }));
}

}  // namespace
}  // namespace larmor::survival
