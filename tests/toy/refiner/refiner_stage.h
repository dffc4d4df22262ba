// The second stage of the toy: it keeps a run of the first.
#pragma once

#include <memory>

#include "tests/toy/volume_stage.h"

namespace larmor::toy {

class RefinerStage final : public VolumeStage {
 public:
  /// Refuses a coder that cannot halve as this stage crops.
  void check_start(const Sample& first) const override;
  std::unique_ptr<Task> task(const RunConfig& config, const Index& index) const override;

 private:
  std::unique_ptr<Task> trial() const override;
};

}  // namespace larmor::toy
