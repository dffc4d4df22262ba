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
  const auto coder = earlier()->stage("coder");
  const auto theirs = dynamic_cast<const CoderStage&>(*coder.stage).in_channels();
  if (theirs == in_channels()) return;
  fail(Exit::usage,
       text("from.coder takes images of ", theirs, " channels, and model.in_channels is ", in_channels()),
       text("say model.in_channels=", theirs, ", or train a coder with the same"));
}

std::unique_ptr<Task> RefinerStage::task(const RunConfig& config, const Index&) const {
  auto coder = earlier()->read("coder").task();
  return std::make_unique<RefinerTask>(
      channels(), static_cast<uint64_t>(config.run.seed),
      std::unique_ptr<CoderTask>(&dynamic_cast<CoderTask&>(*coder.release())));
}

std::unique_ptr<Task> RefinerStage::trial() const {
  const auto coder = earlier()->stage("coder");
  return std::make_unique<RefinerTask>(channels(), /*seed=*/0,
                                       dynamic_cast<const CoderStage&>(*coder.stage).on_meta(), c10::kMeta);
}

std::vector<ObjectiveGroup> RefinerStage::groups(const RunConfig& config) const {
  if (earlier() == nullptr) fail(Exit::usage, "from.coder is empty", "name a run of the stage coder");
  return objective_groups(*trial(), config);
}

PredictionForm RefinerStage::prediction(const RunConfig&) const {
  return {.inputs = {{.name = "t1"},
                     {.name = "t2", .is_optional = true},
                     {.name = "guide", .is_optional = true},
                     {.name = "asked", .kind = PredictionInput::Kind::text, .is_optional = true}},
          .volumes = {"refined"}};
}

}  // namespace larmor::toy
