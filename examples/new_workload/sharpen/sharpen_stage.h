// The stage: its keys, the form of its images, and its task. All else follows.
#pragma once

#include <cstdint>
#include <memory>

#include "larmor/measure/image_stage.h"

namespace larmor::new_workload {

class SharpenStage final : public ImageStage {
 public:
  WorkloadFields fields() override;

 private:
  ImageForm form() const override;
  std::unique_ptr<Task> make_task(const RunConfig& config, const Index& index,
                                  const TaskSetting& setting) const override;

  int64_t channels_ = 16;
};

}  // namespace larmor::new_workload
