// A stage of xray_vqa: questions about radiographs, and the network that answers them. Both stages are this
// one; the second begins with the weights of the first.
#pragma once

#include <memory>

#include "larmor/train/stage.h"

#include "workloads/xray_vqa/training/vqa_config.h"
#include "workloads/xray_vqa/training/vqa_task.h"

namespace larmor::xray_vqa {

class VqaStage final : public Stage {
 public:
  WorkloadFields fields() override;
  void check(const RunConfig& config) const override;
  /// Refuses files of weights that are not there or do not fit.
  void check_start(const Sample& first) const override;
  Index index(const RunConfig& config) const override;
  Index found(const RunConfig& config) const override;
  Demand demand(const RunConfig& config, const Index& index) const override;
  std::unique_ptr<Dataset> dataset(const RunConfig& config, const Index& index, Split split) const override;
  /// Training questions for the baselines, which no network has to look at.
  std::unique_ptr<Dataset> reference(const RunConfig& config, const Index& index) const override;
  std::unique_ptr<Task> task(const RunConfig& config, const Index& index) const override;
  /// A radiograph and a question; the type of the question and boxes, where a person knows them.
  PredictionForm prediction(const RunConfig& config) const override;

 private:
  VqaSurroundings surroundings() const;

  VqaConfig config_;
};

}  // namespace larmor::xray_vqa
