// A thousand small tables with ties and heavy censoring, against what scikit-survival made of them
// (tests/peers/survival_tables.py).
#include <algorithm>
#include <cmath>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "workloads/survival/risk/brier.h"
#include "workloads/survival/risk/concordance.h"
#include "workloads/survival/risk/time_auc.h"
#include "workloads/survival/tests/tables.h"

namespace larmor::survival {
namespace {

using testing::doubles;
using testing::golden_file;
using testing::Patients;

class RecordedTables {
 public:
  RecordedTables() : tensors_(golden_file("survival_tables")) {}
  int64_t size() const { return tensors_.at("rows").size(0); }
  std::vector<double> row(const std::string& key, int64_t table) const {
    return doubles(tensors_.at(key)[table]);
  }

  Patients patients(const std::string& side, int64_t table) const {
    const auto count = static_cast<std::size_t>(row("rows", table)[side == "train" ? 0 : 1]);
    const auto risk = row(side + "/risk", table), time = row(side + "/time", table),
               event = row(side + "/event", table);
    Patients patients;
    for (std::size_t i = 0; i < count; ++i) {
      patients.log_risk.push_back(risk[i] / 10);
      patients.outcomes.time.push_back(time[i]);
      patients.outcomes.event.push_back(static_cast<uint8_t>(event[i]));
    }
    return patients;
  }

 private:
  NamedTensors tensors_;
};

/// In the order in which the values are stored.
std::vector<std::optional<double>> measures_of(const Patients& train, const Patients& test,
                                               const std::vector<double>& horizons) {
  const StepCurve censoring = censoring_kaplan_meier(train.outcomes);
  const StepCurve baseline = breslow_baseline(train.log_risk, train.outcomes);
  const TimeAuc auc = cumulative_dynamic_auc(censoring, test.log_risk, test.outcomes, horizons);
  std::vector<double> survival;
  for (const double log_risk : test.log_risk) {
    for (const double horizon : horizons)
      survival.push_back(survival_probability(baseline, log_risk, horizon));
  }
  const BrierScores brier = brier_scores(censoring, survival, test.outcomes, horizons);
  std::vector<std::optional<double>> all = {
      harrell_concordance(test.log_risk, test.outcomes).index,
      uno_concordance(censoring, test.log_risk, test.outcomes).index,
      uno_concordance(censoring, test.log_risk, test.outcomes, horizons.back()).index};
  all.insert(all.end(), auc.at_horizons.begin(), auc.at_horizons.end());
  all.push_back(auc.mean);
  all.insert(all.end(), brier.at_horizons.begin(), brier.at_horizons.end());
  all.insert(all.end(), {brier.integrated, baseline.at(horizons[1]), censoring.at(horizons[1]),
                         kaplan_meier(train.outcomes).at(horizons[1])});
  return all;
}

TEST(RecordedTables, AreMeasuredAsTheReferenceDoes) {
  const RecordedTables tables;
  ASSERT_EQ(tables.size(), 1000);
  for (int64_t table = 0; table < tables.size(); ++table) {
    SCOPED_TRACE(table);
    const Patients test = tables.patients("test", table);
    const auto found = measures_of(tables.patients("train", table), test, tables.row("horizons", table));
    const auto expected = tables.row("values", table);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ(found[i].has_value(), !std::isnan(expected[i])) << "value " << i;
      if (found[i]) {
        EXPECT_NEAR(*found[i], expected[i], 1e-9) << "value " << i;
      }
    }
    const Concordance harrell = harrell_concordance(test.log_risk, test.outcomes);
    const auto counts = tables.row("counts", table);
    EXPECT_EQ(static_cast<double>(harrell.concordant), counts[0]);
    EXPECT_EQ(static_cast<double>(harrell.discordant), counts[1]);
    EXPECT_EQ(static_cast<double>(harrell.tied_risk), counts[2]);
    EXPECT_EQ(static_cast<double>(harrell.tied_time), counts[3]);
  }
}

}  // namespace
}  // namespace larmor::survival
