#include "tests/toy/volume_stage.h"

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/measure/demand_count.h"
#include "larmor/task/volume_stage.h"
#include "larmor/transforms/declared_chain.h"

namespace larmor::toy {

namespace {

std::vector<int64_t> crop_to_count(const RunConfig& config) {
  const auto crop = training_crop(config.data.transforms);
  return crop.empty() ? std::vector<int64_t>{16, 16, 16} : crop;
}

}  // namespace

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
  check_chains(config);
  for (const auto size : training_crop(config.data.transforms)) {
    if (size % 2 == 0) continue;
    fail(Exit::usage, text("data.transforms crops ", size, " voxels, and the coder halves them"),
         "crop an even number");
  }
}

Demand VolumeStage::demand(const RunConfig& config, const Index& index) const {
  const auto task = trial();
  auto demand = count_demand(config, index, training_chain(config.data.transforms), *task,
                             image_to_count(in_channels_, crop_to_count(config)));
  demand.preferred_micro_batch = 2;
  return demand;
}

std::unique_ptr<Dataset> VolumeStage::dataset(const RunConfig& config, const Index& index,
                                              Split split) const {
  return volume_dataset(config, index, split);
}

}  // namespace larmor::toy
