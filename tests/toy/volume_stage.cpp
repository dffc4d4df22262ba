#include "tests/toy/volume_stage.h"

namespace larmor::toy {

WorkloadFields VolumeStage::fields() {
  return {.model =
              [this](Fields& f) {
                f.field("in_channels", in_channels_, "channels of the images", at_least_one);
                f.field("channels", channels_, "feature channels of the network", at_least_one);
              },
          .loss = [](Fields&) {},
          .objectives = {}};
}

ImageForm VolumeStage::form() const {
  return {.channels = {.count = in_channels_, .keys = {"model.in_channels"}},
          .divisor = 2,
          .batches = {.micro_batch = 2}};
}

}  // namespace larmor::toy
