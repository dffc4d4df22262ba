// The one stage of survival: images of a table's patients, or of an invented cohort's, and the network that
// learns who is most at risk.
#pragma once

#include <memory>

#include "larmor/measure/image_stage.h"

#include "workloads/survival/risk/survival_config.h"

namespace larmor::survival {

class RiskStage final : public ImageStage {
 public:
  WorkloadFields fields() override;
  void check(const RunConfig& config) const override;
  void check_start(const Sample& first) const override;
  Index index(const RunConfig& config) const override;
  Index found(const RunConfig& config) const override {
    return cases_in(without_splits(config.data), config);
  }
  ExampleOrder order(const RunConfig& config, const Index& index, const Dataset& dataset) const override;
  /// One image in, and the covariates; numbers out. The network looks at a whole image of the size that it
  /// has learned on, as in validation.
  PredictionForm prediction(const RunConfig& config) const override;

 private:
  ImageForm form() const override;
  std::unique_ptr<Task> make_task(const RunConfig& config, const Index& index,
                                  const TaskSetting& setting) const override;
  Index cases_in(const DataConfig& data, const RunConfig& config) const;

  SurvivalConfig config_;
};

}  // namespace larmor::survival
