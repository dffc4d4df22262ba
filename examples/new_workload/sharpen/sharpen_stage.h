// The stage: its keys, and what follows from them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "larmor/task/stage.h"

namespace larmor::new_workload {

class SharpenStage final : public Stage {
 public:
  WorkloadFields fields() override;
  void check(const RunConfig& config) const override;
  Demand demand(const RunConfig& config, const Index& index) const override;
  std::unique_ptr<Dataset> dataset(const RunConfig& config, const Index& index, Split split) const override;
  std::unique_ptr<Task> task(const RunConfig& config, const Index& index) const override;
  PredictionForm prediction(const RunConfig& config) const override;

 private:
  int64_t channels_ = 16;
};

}  // namespace larmor::new_workload
