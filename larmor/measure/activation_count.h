// What a step of a task keeps in memory between forward and backward, learned from a forward pass on the meta
// device: nothing is computed, and no memory is taken.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "larmor/data/dataset.h"
#include "larmor/plan/kinds.h"
#include "larmor/task/task.h"

namespace larmor {

/// When backward comes to a block, in bytes.
struct BlockCount {
  int64_t held =
      0;  // of activations, of a sample: what was saved up to its end, and what a rerun brings back
  int64_t output = 0;  // of a sample: each gradient that passes is as large
  int64_t weight = 0;  // of the largest parameter
};

/// Bytes, in the networks' own number format. Weights, buffers and the batch are not in it.
struct ActivationCount {
  int64_t fixed = 0;             // held whatever the batch
  int64_t per_sample = 0;        // held for each of two samples or more
  int64_t of_one = 0;            // held for a single one: what is copied of several may be looked at in place
  int64_t rerun_per_sample = 0;  // held besides while backward computes again what costs most of all
  int64_t largest_block = 0;     // weights of one hooked block
  int64_t parameters_outside_blocks = 0;  // elements
  std::vector<BlockCount> blocks;         // hooked ones, in the order of forward
  int64_t held(int64_t samples) const { return samples == 1 ? of_one : fixed + samples * per_sample; }
};

/// Counts losses(), or rows() where the loss is one of the whole batch, past every warm-up. The task's
/// networks are on the meta device and in training mode afterwards. Of `example` only names, shapes and types
/// matter. Workspaces are not counted. Nothing, and the reason in `why_not`, for a forward that looks at
/// values: that takes a number out of a tensor, or picks by a mask.
std::optional<ActivationCount> count_activations(Task& task, const Sample& example, Recompute recompute,
                                                 std::string* why_not = nullptr);

}  // namespace larmor
