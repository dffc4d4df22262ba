// What both stages of the toy share: volumes through the declared transforms, one number for the size of the
// network.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "larmor/task/stage.h"

namespace larmor::toy {

class VolumeStage : public Stage {
 public:
  WorkloadFields fields() override;
  void check(const RunConfig& config) const override;
  Demand demand(const RunConfig& config, const Index& index) const override;
  std::unique_ptr<Dataset> dataset(const RunConfig& config, const Index& index, Split split) const override;

  /// Channels of the images.
  int64_t in_channels() const { return in_channels_; }

 protected:
  int64_t channels() const { return channels_; }
  /// A task to count: its weights are of no matter.
  virtual std::unique_ptr<Task> trial() const = 0;

 private:
  int64_t in_channels_ = 1, channels_ = 4;
};

}  // namespace larmor::toy
