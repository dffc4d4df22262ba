#include "tests/toy/refiner/refiner_stage.h"

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/run/earlier/earlier_run.h"
#include "larmor/task/volume_stage.h"

#include "tests/toy/coder/coder_stage.h"
#include "tests/toy/refiner/refiner_task.h"

namespace larmor::toy {

std::unique_ptr<Dataset> RefinerStage::dataset(const RunConfig& config, const Index& index,
                                               Split split) const {
  if (index.is_invented()) return volume_dataset(config, index, split);
  return volume_dataset(config, index, split,
                        {.channels = {"t1", "t2"}, .missing_as_zeros = true, .own_grids = {"guide"}});
}

void RefinerStage::check_start(const Sample& /*first*/) const {
  const auto theirs = earlier()->stage_as<CoderStage>("coder")->in_channels();
  if (theirs == in_channels()) return;
  fail(Exit::usage,
       text("from.coder takes images of ", theirs, " channels, and model.in_channels is ", in_channels()),
       text("say model.in_channels=", theirs, ", or train a coder with the same"));
}

ImageForm RefinerStage::form() const {
  ImageForm form = VolumeStage::form();
  form.predicts_by_average = true;
  return form;
}

std::unique_ptr<Task> RefinerStage::make_task(const RunConfig&, const Index&,
                                              const TaskSetting& setting) const {
  auto coder = setting.device.is_meta() ? earlier()->stage_as<CoderStage>("coder")->on_meta()
                                        : earlier()->task_as<CoderTask>("coder");
  return std::make_unique<RefinerTask>(channels(), setting.seed, std::move(coder), setting.device);
}

std::vector<ObjectiveGroup> RefinerStage::groups(const RunConfig& config) const {
  if (earlier() == nullptr) fail(Exit::usage, "from.coder is empty", "name a run of the stage coder");
  return objective_groups(*make_task(config, {}, {.device = c10::kMeta}), config);
}

PredictionForm RefinerStage::prediction(const RunConfig&) const {
  return {.inputs = {{.name = "t1"},
                     {.name = "t2", .is_optional = true},
                     {.name = "guide", .is_optional = true},
                     {.name = "asked", .kind = PredictionInput::Kind::text, .is_optional = true}},
          .volumes = {"refined"}};
}

}  // namespace larmor::toy
