#include "workloads/new_workload/sharpen/sharpen_stage.h"

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
ImageForm SharpenStage::form() const { return {.batches = {.micro_batch = 2}, .output = "image"}; }

std::unique_ptr<Task> SharpenStage::make_task(const RunConfig&, const Index&,
                                              const TaskSetting& setting) const {
  return std::make_unique<SharpenTask>(channels_, setting.seed, setting.device);
}

}  // namespace larmor::new_workload
