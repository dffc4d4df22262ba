// A snapshot small enough to save a thousand times.
#pragma once

#include <filesystem>
#include <optional>

#include "larmor/checkpoint/checkpoint.h"

namespace larmor::testing {

/// One file of two tensors whose values tell the step; rank 0 also carries state.
Snapshot small_snapshot(int64_t step, int rank = 0, std::optional<double> metric = {});

/// Saves at once, without a thread of its own.
CheckpointOptions saved_at_once();

/// Whether the checkpoint holds what small_snapshot(step) put into it.
bool holds_step(const CheckpointEntry& entry, int64_t step);

/// Changes one bit of a file.
void flip_bit(const std::filesystem::path& path, uint64_t byte, int bit);

}  // namespace larmor::testing
