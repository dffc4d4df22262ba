#include "tests/toy/refiner/refiner_stage.h"

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/train/earlier_run.h"

#include "tests/toy/coder/coder_stage.h"
#include "tests/toy/refiner/refiner_task.h"

namespace larmor::toy {

void RefinerStage::check_start(const Sample& /*first*/) const {
  const auto coder = earlier()->stage("coder");
  const auto theirs = dynamic_cast<const CoderStage&>(*coder.stage).in_channels();
  if (theirs == in_channels()) return;
  fail(Exit::usage,
       text("from.coder takes images of ", theirs, " channels, and model.in_channels is ", in_channels()),
       text("say model.in_channels=", theirs, ", or train a coder with the same"));
}

std::unique_ptr<Task> RefinerStage::task(const RunConfig& config, const Index&) const {
  return std::make_unique<RefinerTask>(in_channels(), channels(), static_cast<uint64_t>(config.run.seed),
                                       earlier()->read("coder").task());
}

std::unique_ptr<Task> RefinerStage::trial() const {
  return std::make_unique<RefinerTask>(in_channels(), channels(), /*seed=*/0, nullptr, c10::kMeta);
}

}  // namespace larmor::toy
