#include "tests/toy/volume_stage.h"

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/data/volume_dataset.h"
#include "larmor/train/measure/demand_count.h"
#include "larmor/transforms/declared_chain.h"
#include "larmor/transforms/transforms.h"

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

void VolumeStage::check(const RunConfig& config) const {
  const TransformChain training(training_chain(config.data.transforms));
  for (const auto size : training_crop(config.data.transforms)) {
    if (size % 2 == 0) continue;
    fail(Exit::usage, text("data.transforms crops ", size, " voxels, and the coder halves them"),
         "crop an even number");
  }
}

Demand VolumeStage::demand(const RunConfig& config, const Index& index) const {
  const auto task = trial();
  auto demand = count_demand(config, index, training_transforms(config), *task,
                             image_to_count(in_channels_, prediction_window(config)));
  demand.preferred_micro_batch = 2;
  return demand;
}

std::unique_ptr<Dataset> VolumeStage::dataset(const RunConfig& config, const Index& index,
                                              Split split) const {
  const auto& declared = config.data.transforms;
  return make_volume_dataset(config.data, index, split,
                             split == Split::train ? training_chain(declared) : validation_chain(declared));
}

Json VolumeStage::training_transforms(const RunConfig& config) const {
  return training_chain(config.data.transforms);
}

Json VolumeStage::prediction_transforms(const RunConfig& config) const {
  return prediction_chain(config.data.transforms);
}

std::vector<int64_t> VolumeStage::prediction_window(const RunConfig& config) const {
  const auto crop = training_crop(config.data.transforms);
  return crop.empty() ? std::vector<int64_t>{16, 16, 16} : crop;
}

}  // namespace larmor::toy
