// plan.profile=guide: the table of batches that a stage's guide has, read for a machine.
#pragma once

#include <cstdint>

#include "larmor/plan/plan.h"

namespace larmor {

/// The row for `ranks` GPUs of which the smallest has `memory_bytes`. Requires: the guide has rows. Below the
/// last row, the last row holds.
GuideRow guide_row(const Guide& guide, uint64_t memory_bytes, int64_t ranks);

/// Compute threads of a rank and variables of its environment, where the guide says so for GPUs.
void follow_guide_on_gpus(const Guide& guide, int cores, Plan& plan);

/// Micro-batches ahead, by what the host has free.
int guide_prefetch(uint64_t memory_available_bytes);

}  // namespace larmor
