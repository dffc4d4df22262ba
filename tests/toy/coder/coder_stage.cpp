#include "tests/toy/coder/coder_stage.h"

namespace larmor::toy {

std::unique_ptr<Task> CoderStage::task(const RunConfig& config, const Index&) const {
  return std::make_unique<CoderTask>(in_channels(), channels(), static_cast<uint64_t>(config.run.seed));
}

PredictionForm CoderStage::prediction(const RunConfig&) const {
  return {.inputs = {}, .volumes = {"sample"}};
}

std::unique_ptr<CoderTask> CoderStage::on_meta() const {
  return std::make_unique<CoderTask>(in_channels(), channels(), /*seed=*/0, c10::kMeta);
}

}  // namespace larmor::toy
