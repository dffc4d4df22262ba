// A ResNet that learns from whole batches who is most at risk.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <c10/core/Device.h>

#include "larmor/data/index/index.h"
#include "larmor/task/task.h"

#include "workloads/survival/risk/covariates.h"
#include "workloads/survival/risk/risk_network.h"
#include "workloads/survival/risk/survival_config.h"
#include "workloads/survival/risk/survival_curves.h"
#include "workloads/survival/risk/survival_figures.h"

namespace larmor::survival {

/// The outcomes of a split's cases.
SurvivalOutcomes outcomes_of(const Index& index, Split split);

class SurvivalTask final : public Task, private WholeBatchLoss {
 public:
  /// A new network is drawn from `seed`. `training`: outcomes of the training cases, empty where they are not
  /// known, as `covariates` are then. On c10::kMeta nothing is drawn or stored, and the network is there to
  /// be counted. Throws Error as choose_horizons.
  SurvivalTask(const SurvivalConfig& config, const SurvivalOutcomes& training, Covariates covariates,
               uint64_t seed, c10::Device device = c10::kCPU);

  std::vector<Objective> objectives() override;
  /// `config.weights` replaces all of the network but its last layer. Throws Error as start_from.
  void start() override;
  std::vector<at::Tensor> losses(const Batch& batch, const StepContext& context) override;
  WholeBatchLoss* whole_batch_loss() override { return this; }
  /// Value "risk", the log-risk. Throws Error (data) as Covariates::refuse_unseen.
  void validate(const Batch& batch, Metrics& metrics) override;
  void summarize(const CaseValues& cases, const CaseValues& reference, Metrics& metrics) override;
  DeclaredFigures figures() const override;
  /// Time, event, the third of the risks that the case is in, and the true risk of an invented one.
  CaseColumns case_columns(const CaseValues& cases) const override;
  /// Numbers: risk, the log-risk; and where reference cases are known, the percentage of them with a lower
  /// one, and the probability to be without event at each horizon. Texts are the covariates. Throws Error
  /// (usage) where it takes some and training cases are not known, and (data) as Covariates::batch_of.
  Prediction predict(const Batch& inputs, const PredictionContext& context) override;
  std::string missing_values() const override;
  /// The reference cases' risks, unless the network has learned since they were measured.
  void save(StateWriter& writer) const override;
  void load(const StateReader& reader, bool of_average) override;

 private:
  at::Tensor rows(const Batch& batch, const StepContext& context) override;  // [n], log-risks
  at::Tensor targets(const Batch& batch) override;                           // [n, 2], times and events
  at::Tensor loss(const at::Tensor& rows, const at::Tensor& targets, const StepContext& context) override;
  at::Tensor log_risk(const at::Tensor& features, const Batch& batch);  // [N, F] to [N]
  at::Tensor log_risk(const Batch& batch);
  void set_reference(Predictions reference);
  void forget_reference();

  const SurvivalConfig config_;
  const Covariates covariates_;
  std::shared_ptr<RiskNetwork> network_;
  /// The curves of the training table; nothing where that is not known.
  std::optional<StepCurve> censoring_, kaplan_meier_;
  std::vector<Horizon> horizons_;
  Predictions reference_;              // of a validation with the weights as they are; otherwise empty
  std::vector<double> ranked_risks_;   // its log-risks, ascending
  std::optional<StepCurve> baseline_;  // its hazard
};

}  // namespace larmor::survival
