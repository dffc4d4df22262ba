#include "tests/toy/coder/coder_stage.h"

#include "tests/toy/coder/coder_task.h"

namespace larmor::toy {

std::unique_ptr<Task> CoderStage::task(const RunConfig& config, const Index&) const {
  return std::make_unique<CoderTask>(in_channels(), channels(), static_cast<uint64_t>(config.run.seed));
}

std::unique_ptr<Task> CoderStage::trial() const {
  return std::make_unique<CoderTask>(in_channels(), channels(), /*seed=*/0, c10::kMeta);
}

}  // namespace larmor::toy
