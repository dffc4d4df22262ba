// The first stage of the toy.
#pragma once

#include <memory>

#include "tests/toy/volume_stage.h"

namespace larmor::toy {

class CoderStage final : public VolumeStage {
 public:
  /// A CoderTask.
  std::unique_ptr<Task> task(const RunConfig& config, const Index& index) const override;

 private:
  std::unique_ptr<Task> trial() const override;
};

}  // namespace larmor::toy
