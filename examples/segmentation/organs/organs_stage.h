// The stage: its keys, the form of its images, and its task. All else follows.
#pragma once

#include <memory>

#include "larmor/measure/image_stage.h"

#include "organs/organs_task.h"

namespace larmor::segmentation {

class OrgansStage final : public ImageStage {
 public:
  WorkloadFields fields() override;

 private:
  ImageForm form() const override;
  std::unique_ptr<Task> make_task(const RunConfig& config, const Index& index,
                                  const TaskSetting& setting) const override;

  OrgansConfig config_;
  ValidationConfig validation_;
};

}  // namespace larmor::segmentation
