#include "workloads/new_workload/sharpen/sharpen_stage.h"

#include "larmor/measure/demand_count.h"
#include "larmor/task/prediction.h"
#include "larmor/task/volume_stage.h"
#include "larmor/transforms/declared_chain.h"

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
void SharpenStage::check(const RunConfig& config) const { check_chains(config); }

Demand SharpenStage::demand(const RunConfig& config, const Index& index) const {
  SharpenTask trial(channels_, /*seed=*/0, c10::kMeta);
  const auto crop = training_crop(config.data.transforms);
  auto demand =
      count_demand(config, index, training_chain(config.data.transforms), trial,
                   image_to_count(/*channels=*/1, crop.empty() ? std::vector<int64_t>{64, 64, 64} : crop));
  demand.preferred_micro_batch = 2;
  return demand;
}

std::unique_ptr<Dataset> SharpenStage::dataset(const RunConfig& config, const Index& index,
                                               Split split) const {
  return volume_dataset(config, index, split);
}

std::unique_ptr<Task> SharpenStage::task(const RunConfig& config, const Index&) const {
  return std::make_unique<SharpenTask>(channels_, static_cast<uint64_t>(config.run.seed), c10::kCPU);
}

PredictionForm SharpenStage::prediction(const RunConfig& config) const {
  return {.inputs = {{.name = "image"}},
          .transforms = prediction_chain(config.data.transforms),
          .volumes = {"image"}};
}

}  // namespace larmor::new_workload
