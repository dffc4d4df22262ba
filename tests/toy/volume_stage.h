// What both stages of the toy share: their keys, and the form of their images.
#pragma once

#include <cstdint>

#include "larmor/measure/image_stage.h"

namespace larmor::toy {

class VolumeStage : public ImageStage {
 public:
  WorkloadFields fields() override;

  /// Channels of the images.
  int64_t in_channels() const { return in_channels_; }

 protected:
  ImageForm form() const override;
  int64_t channels() const { return channels_; }

 private:
  int64_t in_channels_ = 1, channels_ = 4;
};

}  // namespace larmor::toy
