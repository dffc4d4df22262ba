// Whether a training can go on from a checkpoint: its position in the data means something in the order that
// it was trained in alone.
#pragma once

#include "larmor/checkpoint/checkpoint.h"

namespace larmor {

/// Throws Error (checkpoint) for a checkpoint of a format before 2, whose order of examples is no more.
/// Requires: a checkpoint that has been verified.
void require_current_order(const CheckpointEntry& entry);

}  // namespace larmor
