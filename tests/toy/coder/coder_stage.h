// The first stage of the toy.
#pragma once

#include <memory>

#include "tests/toy/coder/coder_task.h"
#include "tests/toy/volume_stage.h"

namespace larmor::toy {

class CoderStage final : public VolumeStage {
 public:
  /// No input: the coder samples.
  PredictionForm prediction(const RunConfig& config) const override;
  /// A task of shapes alone.
  std::unique_ptr<CoderTask> on_meta() const;

 private:
  std::unique_ptr<Task> make_task(const RunConfig& config, const Index& index,
                                  const TaskSetting& setting) const override;
};

}  // namespace larmor::toy
