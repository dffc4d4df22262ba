// The one stage of survival: images of a table's patients, or of an invented cohort's, and the network that
// learns who is most at risk.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "larmor/data/make_volumes.h"
#include "larmor/task/stage.h"

#include "workloads/survival/risk/survival_config.h"

namespace larmor::survival {

class RiskStage final : public Stage {
 public:
  WorkloadFields fields() override;
  void check(const RunConfig& config) const override;
  void check_start(const Sample& first) const override;
  void check_example(const Sample& example, Split split) const override;
  Index index(const RunConfig& config) const override;
  Index found(const RunConfig& config) const override {
    return cases_in(without_splits(config.data), config);
  }
  bool invents_data(const RunConfig& config) const override;
  Demand demand(const RunConfig& config, const Index& index) const override;
  std::unique_ptr<Dataset> dataset(const RunConfig& config, const Index& index, Split split) const override;
  std::unique_ptr<Dataset> reference(const RunConfig& config, const Index& index,
                                     ValidationDepth depth) const override;
  ExampleOrder order(const RunConfig& config, const Index& index, const Dataset& dataset) const override;
  std::unique_ptr<Task> task(const RunConfig& config, const Index& index) const override;
  /// One image in, numbers out. The network looks at a whole image of the size that it has learned on, as in
  /// validation.
  PredictionForm prediction(const RunConfig& config) const override;

 private:
  Index cases_in(const DataConfig& data, const RunConfig& config) const;
  MakeVolumes image_maker() const;
  /// Voxels along each axis as the network sees an image: what the chain resizes or crops to.
  std::vector<int64_t> image_size(const DataConfig& data) const;

  SurvivalConfig config_;
};

}  // namespace larmor::survival
