#include "tests/toy/coder/coder_stage.h"

namespace larmor::toy {

std::unique_ptr<Task> CoderStage::make_task(const RunConfig&, const Index&,
                                            const TaskSetting& setting) const {
  return std::make_unique<CoderTask>(in_channels(), channels(), setting.seed, setting.device);
}

PredictionForm CoderStage::prediction(const RunConfig&) const {
  return {.inputs = {}, .volumes = {"sample"}};
}

std::unique_ptr<CoderTask> CoderStage::on_meta() const {
  return std::make_unique<CoderTask>(in_channels(), channels(), /*seed=*/0, c10::kMeta);
}

}  // namespace larmor::toy
