// A stage of the cascade from radiographs to CT volumes; the same class for all three.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "larmor/task/stage.h"

#include "workloads/xray_to_ct/stage/cascade_config.h"
#include "workloads/xray_to_ct/stage/cascade_task.h"

namespace larmor::xray_to_ct {

class CascadeStage final : public Stage {
 public:
  /// `number` from 1 on: each stage but the first needs the one before.
  explicit CascadeStage(int64_t number) : config_(number) {}

  WorkloadFields fields() override;
  void check(const RunConfig& config) const override;
  void check_start(const Sample& first) const override;
  void check_example(const Sample& example, Split split) const override;
  Index index(const RunConfig& config) const override;
  Index found(const RunConfig& config) const override;
  Demand demand(const RunConfig& config, const Index& index) const override;
  /// The dataset of stages that follow another, with what that one makes of each case's radiographs.
  std::unique_ptr<Dataset> dataset(const RunConfig& config, const Index& index, Split split) const override;
  void prepare(const RunConfig& config, const Index& index, PrepareContext& context) const override;
  std::unique_ptr<Task> task(const RunConfig& config, const Index& index) const override;
  /// "pa" and, where the model takes two views, "lateral" in; "volume" out.
  PredictionForm prediction(const RunConfig& config) const override;
  bool predicts_by_average() const override { return true; }

  const CascadeConfig& own_config() const { return config_; }

 private:
  std::string earlier_stage() const;
  /// The stage before, as its run has it.
  std::unique_ptr<const CascadeStage> earlier_run() const;
  /// A task that has shapes alone, with those of the stages before.
  std::unique_ptr<CascadeTask> on_meta() const;
  /// That of the stage before; where a plan is asked for and no run is named yet, one of its defaults.
  std::unique_ptr<CascadeTask> earlier_on_meta(const RunConfig& config) const;
  std::unique_ptr<CascadeTask> earlier_task() const;

  CascadeConfig config_;
};

}  // namespace larmor::xray_to_ct
