// `train W --stage all`: the stages of a workload one after the other, each with the runs of those before it.
#pragma once

#include <functional>
#include <optional>

#include "larmor/launch/rank.h"

#include "app/program.h"
#include "app/train/train_flags.h"

namespace larmor::app {

/// Calls `look_at_stage`, which throws what is wrong with it, for all stages, and then `train_stage` for
/// each, the program's words being those of that stage's run. A stage whose run is over is not trained again,
/// which is for `train_stage` to see; one that ends otherwise is the last. The exit status is the last one's.
/// `given`: the rank that another launcher made of this process; its ranks meet anew for each stage. Throws
/// Error (usage) for words that make no sense for several stages.
int train_every_stage(Program& program, const TrainFlags& flags, const std::optional<Rank>& given,
                      const std::function<int()>& train_stage, const std::function<int()>& look_at_stage);

}  // namespace larmor::app
