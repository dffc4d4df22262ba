#include "workloads/new_workload/sharpen/sharpen_stage.h"

#include "larmor/data/volume_dataset.h"
#include "larmor/train/measure/demand_count.h"
#include "larmor/transforms/declared_chain.h"
#include "larmor/transforms/transforms.h"

#include "workloads/new_workload/sharpen/sharpen_task.h"

namespace larmor::new_workload {

WorkloadFields SharpenStage::fields() {
  return {.model =
              [this](Fields& f) {
                f.field("channels", channels_, "feature channels of the network", at_least_one);
              },
          .loss = [](Fields&) {},
          .objectives = {}};
}

// Keys that go well each by itself and not together are refused here, with what to say instead.
void SharpenStage::check(const RunConfig& config) const { TransformChain{training_transforms(config)}; }

Demand SharpenStage::demand(const RunConfig& config, const Index& index) const {
  SharpenTask trial(channels_, /*seed=*/0, c10::kMeta);
  auto demand = count_demand(config, index, training_transforms(config), trial,
                             image_to_count(/*channels=*/1, prediction_window(config)));
  demand.preferred_micro_batch = 2;
  return demand;
}

std::unique_ptr<Dataset> SharpenStage::dataset(const RunConfig& config, const Index& index,
                                               Split split) const {
  const auto& declared = config.data.transforms;
  return make_volume_dataset(config.data, index, split,
                             split == Split::train ? training_chain(declared) : validation_chain(declared));
}

std::unique_ptr<Task> SharpenStage::task(const RunConfig& config, const Index&) const {
  return std::make_unique<SharpenTask>(channels_, static_cast<uint64_t>(config.run.seed), c10::kCPU);
}

Json SharpenStage::training_transforms(const RunConfig& config) const {
  return training_chain(config.data.transforms);
}

Json SharpenStage::prediction_transforms(const RunConfig& config) const {
  return prediction_chain(config.data.transforms);
}

std::vector<int64_t> SharpenStage::prediction_window(const RunConfig& config) const {
  const auto crop = training_crop(config.data.transforms);
  return crop.empty() ? std::vector<int64_t>{64, 64, 64} : crop;
}

}  // namespace larmor::new_workload
