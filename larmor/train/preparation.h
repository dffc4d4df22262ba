// What a new run does once before its first step: what has to be known of the data, and what the run comes to
// only after its first interval, tried.
#pragma once

#include "larmor/train/step/recovery.h"
#include "larmor/train/validations.h"

namespace larmor {

/// Task::prepare() over the first global batch, which training then sees all the same. Where the task refuses
/// examples, it begins again without them. Throws what a step would. Collective.
void look_at_first_batch(Loop& loop, MicroBatches& batches, Recovery& recovery);

/// Validates a case or a few, draws their pictures and gathers what a save writes, and keeps nothing: not one
/// bit of what is trained depends on it. Throws Error (usage) where checkpoint.metric is a name that no such
/// case gives, and what a validation throws. Collective.
void try_out(Loop& loop, Validations& validations);

}  // namespace larmor
