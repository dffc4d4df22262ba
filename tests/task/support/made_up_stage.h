// A workload of two stages that have fields of their own and learn nothing.
#pragma once

#include <cstdint>

#include "larmor/task/stage.h"
#include "larmor/task/workload.h"

namespace larmor::testing {

/// `model.width`, 8 unless said otherwise; check() refuses more than 100.
class MadeUpStage final : public Stage {
 public:
  WorkloadFields fields() override;
  void check(const RunConfig& config) const override;
  Demand demand(const RunConfig&, const Index&) const override { return {}; }
  std::unique_ptr<Dataset> dataset(const RunConfig&, const Index&, Split) const override { return nullptr; }
  std::unique_ptr<Task> task(const RunConfig&, const Index&) const override { return nullptr; }
  /// Its transforms are [width], so that it can be seen.
  PredictionForm prediction(const RunConfig&) const override;

 private:
  int64_t width_ = 8;
};

/// "made_up" with the stages "first" and "second".
Workload made_up_workload();

}  // namespace larmor::testing
