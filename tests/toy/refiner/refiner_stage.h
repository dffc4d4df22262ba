// The second stage of the toy: it keeps a run of the first.
#pragma once

#include <memory>

#include "tests/toy/volume_stage.h"

namespace larmor::toy {

class RefinerStage final : public VolumeStage {
 public:
  /// Invented volumes, or files of three modalities: t1, t2 (may be missing), guide (on a grid of its own).
  std::unique_ptr<Dataset> dataset(const RunConfig& config, const Index& index, Split split) const override;
  /// Refuses a coder of images with other channels.
  void check_start(const Sample& first) const override;
  /// Takes them as they are: of files, images have two channels, and the coder is given those that it takes.
  void check_example(const Sample&, Split) const override {}
  std::vector<ObjectiveGroup> groups(const RunConfig& config) const override;
  PredictionForm prediction(const RunConfig& config) const override;

 private:
  ImageForm form() const override;
  std::unique_ptr<Task> make_task(const RunConfig& config, const Index& index,
                                  const TaskSetting& setting) const override;
};

}  // namespace larmor::toy
