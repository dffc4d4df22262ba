#include "workloads/survival/risk/cox_loss.h"

#include <cmath>
#include <limits>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"

#include "workloads/survival/tests/tables.h"

namespace larmor::survival {
namespace {

using testing::doubles;
using testing::golden_file;
using testing::random_patients;

struct LossAndGradient {
  at::Tensor loss, gradient;
};

LossAndGradient cox(const at::Tensor& log_risk, const at::Tensor& time, const at::Tensor& event,
                    CoxTies ties) {
  const at::Tensor leaf = log_risk.detach().clone().requires_grad_(true);
  const at::Tensor loss = cox_loss(leaf, time, event, ties);
  loss.backward();
  return {loss.detach(), leaf.grad()};
}

at::Tensor cox_column(const std::vector<double>& values) { return at::tensor(values, at::kDouble); }

at::Tensor events_of(const SurvivalOutcomes& outcomes) {
  return cox_column(std::vector<double>(outcomes.event.begin(), outcomes.event.end()));
}

/// Term by term, as the definition has it.
double loss_by_definition(const testing::Patients& patients, CoxTies ties) {
  const auto& [time, event] = patients.outcomes;
  double sum = 0, events = 0;
  for (std::size_t i = 0; i < time.size(); ++i) {
    if (event[i] == 0) continue;
    double at_risk = 0, tied = 0, ties_before = 0, ties_in_all = 0;
    for (std::size_t j = 0; j < time.size(); ++j) {
      if (time[j] >= time[i]) at_risk += std::exp(patients.log_risk[j]);
      if (time[j] != time[i] || event[j] == 0) continue;
      tied += std::exp(patients.log_risk[j]);
      ++ties_in_all;
      if (j < i) ++ties_before;
    }
    if (ties == CoxTies::efron) at_risk -= ties_before / ties_in_all * tied;
    sum += std::log(at_risk) - patients.log_risk[i];
    ++events;
  }
  return sum / events;
}

TEST(CoxLoss, EqualsTheReferenceInValueAndGradient) {
  const NamedTensors golden = golden_file("survival");
  for (const std::string name : {"ties", "noties", "one_event"}) {
    for (const CoxTies ties : {CoxTies::breslow, CoxTies::efron}) {
      const std::string table = "cox_" + name + "/", rule = ties == CoxTies::efron ? "efron/" : "breslow/";
      const auto [loss, gradient] =
          cox(golden.at(table + "log_risk"), golden.at(table + "time"), golden.at(table + "event"), ties);
      EXPECT_NEAR(loss.item<double>(), golden.at(table + rule + "loss_per_event").item<double>(), 1e-10)
          << table << rule;
      EXPECT_LE((gradient - golden.at(table + rule + "grad_log_risk")).abs().max().item<double>(), 1e-10)
          << table << rule;
    }
  }
}

TEST(CoxLoss, EqualsItsDefinitionOnRandomBatches) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const auto patients = random_patients(seed, 2 + seed % 30, 1 + seed % 12, 0.4);
    if (patients.outcomes.events() == 0) continue;
    for (const CoxTies ties : {CoxTies::breslow, CoxTies::efron}) {
      const at::Tensor loss = cox_loss(cox_column(patients.log_risk), cox_column(patients.outcomes.time),
                                       events_of(patients.outcomes), ties);
      EXPECT_NEAR(loss.item<double>(), loss_by_definition(patients, ties), 1e-10) << seed;
    }
  }
}

TEST(CoxLoss, HasTheGradientOfItsDifferences) {
  auto patients = random_patients(4, 20, 5, 0.6);
  for (const CoxTies ties : {CoxTies::breslow, CoxTies::efron}) {
    const auto found = doubles(cox(cox_column(patients.log_risk), cox_column(patients.outcomes.time),
                                   events_of(patients.outcomes), ties)
                                   .gradient);
    for (std::size_t i = 0; i < found.size(); ++i) {
      const double step = 1e-5, here = patients.log_risk[i];
      patients.log_risk[i] = here + step;
      const double above = loss_by_definition(patients, ties);
      patients.log_risk[i] = here - step;
      const double below = loss_by_definition(patients, ties);
      patients.log_risk[i] = here;
      EXPECT_NEAR(found[i], (above - below) / (2 * step), 1e-8);
    }
  }
}

TEST(CoxLoss, IsAZeroWithAGradientWhereEverybodyIsCensored) {
  for (const CoxTies ties : {CoxTies::breslow, CoxTies::efron}) {
    const auto [loss, gradient] =
        cox(cox_column({0.5, -2, -3}), cox_column({1, 2, 2}), cox_column({0, 0, 0}), ties);
    EXPECT_EQ(loss.item<double>(), 0);
    EXPECT_FALSE(std::signbit(loss.item<double>())) << "people see it";
    EXPECT_TRUE(at::equal(gradient, cox_column({0, 0, 0})));
  }
}

TEST(CoxLoss, IsWhatOneWorksOutByHand) {
  // One event with two at risk, then one alone: ln(1 + e) - 1, and 0.
  const auto [loss, gradient] =
      cox(cox_column({1, 0}), cox_column({1, 2}), cox_column({1, 1}), CoxTies::breslow);
  EXPECT_NEAR(loss.item<double>(), (std::log(1 + std::exp(1)) - 1) / 2, 1e-15);
  const double share = std::exp(1) / (1 + std::exp(1));
  EXPECT_NEAR(gradient[0].item<double>(), (share - 1) / 2, 1e-15);
  EXPECT_NEAR(gradient[1].item<double>(), (1 - share) / 2, 1e-15);
}

TEST(CoxLoss, DoesNotDependOnTheOrderOfThePatients) {
  const auto patients = random_patients(9, 40, 8, 0.5);
  const at::Tensor risk = cox_column(patients.log_risk), time = cox_column(patients.outcomes.time),
                   event = events_of(patients.outcomes);
  const at::Tensor shuffled = at::randperm(40);
  for (const CoxTies ties : {CoxTies::breslow, CoxTies::efron}) {
    const auto plain = cox(risk, time, event, ties);
    const auto mixed = cox(risk.index({shuffled}), time.index({shuffled}), event.index({shuffled}), ties);
    EXPECT_NEAR(mixed.loss.item<double>(), plain.loss.item<double>(), 1e-12);
    EXPECT_LE((mixed.gradient - plain.gradient.index({shuffled})).abs().max().item<double>(), 1e-12);
  }
}

TEST(CoxLoss, DoesNotDependOnACommonShiftAndStandsFarApartRisks) {
  const at::Tensor time = cox_column({1, 1, 2, 3, 4}), event = cox_column({1, 1, 1, 0, 1});
  for (const CoxTies ties : {CoxTies::breslow, CoxTies::efron}) {
    const at::Tensor risk = cox_column({0.3, -1, 2, 0, 0.5});
    const auto plain = cox(risk, time, event, ties), shifted = cox(risk + 5000, time, event, ties);
    EXPECT_NEAR(shifted.loss.item<double>(), plain.loss.item<double>(), 1e-10);
    const auto extreme = cox(cox_column({3000, -3000, 0, 2000, -5000}), time, event, ties);
    EXPECT_TRUE(std::isfinite(extreme.loss.item<double>()));
    EXPECT_TRUE(at::isfinite(extreme.gradient).all().item<bool>());
    const auto single = cox(at::tensor({300.F, -300.F, 0.F, 200.F, -500.F}), time, event, ties);
    EXPECT_TRUE(std::isfinite(single.loss.item<float>()));
    EXPECT_TRUE(at::isfinite(single.gradient).all().item<bool>());
  }
}

TEST(CoxLoss, ComputesHalfPrecisionInFloat32) {
  const auto patients = random_patients(12, 32, 10, 0.5);
  const at::Tensor time = cox_column(patients.outcomes.time), event = events_of(patients.outcomes);
  for (const at::ScalarType type : {at::kHalf, at::kBFloat16}) {
    const at::Tensor rounded = cox_column(patients.log_risk).to(type);
    const auto half = cox(rounded, time, event, CoxTies::efron);
    EXPECT_EQ(half.loss.scalar_type(), at::kFloat);
    EXPECT_EQ(half.gradient.scalar_type(), type);
    const double exact = cox(rounded.to(at::kDouble), time, event, CoxTies::efron).loss.item<double>();
    EXPECT_NEAR(half.loss.item<double>(), exact, 1e-5);
  }
}

TEST(CoxLoss, RefusesBatchesThatAreNoTable) {
  const at::Tensor risk = cox_column({0, 1});
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto refused = [&](const at::Tensor& time, const at::Tensor& event) {
    try {
      cox_loss(risk, time, event);
    } catch (const Error& error) {
      return error.exit() == Exit::data;
    }
    return false;
  };
  EXPECT_FALSE(refused(cox_column({1, 2}), cox_column({0, 1})));
  EXPECT_TRUE(refused(cox_column({1, nan}), cox_column({0, 1})));
  EXPECT_TRUE(refused(cox_column({1, -1}), cox_column({0, 1})));
  EXPECT_TRUE(refused(cox_column({1, std::numeric_limits<double>::infinity()}), cox_column({0, 1})));
  EXPECT_TRUE(refused(cox_column({1, 2}), cox_column({0, 2})));
  EXPECT_TRUE(refused(cox_column({1, 2}), cox_column({0, 0.5})));
  EXPECT_TRUE(refused(cox_column({1, 2}), cox_column({0, nan})));
  EXPECT_TRUE(refused(cox_column({1, 2, 3}), cox_column({0, 1, 1})));
}

}  // namespace
}  // namespace larmor::survival
