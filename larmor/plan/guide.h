// plan.profile=guide: the batch table of the auto-optimising guide, for those who have its numbers in mind.
#pragma once

#include <cstdint>
#include <optional>

namespace larmor {

struct GuideBatch {
  int64_t micro_batch;
  int64_t accumulation;
};

/// For `ranks` GPUs of which the smallest has `memory_bytes`: the accumulation brings a step near to 256
/// examples, and with four GPUs is the published one.
GuideBatch guide_batch_on_gpus(uint64_t memory_bytes, int64_t ranks);
inline constexpr GuideBatch guide_batch_on_cpu{4, 8};

inline constexpr int guide_loader_threads_on_gpu = 3;
inline constexpr int guide_loader_threads_on_cpu = 4;
/// Micro-batches ahead, by what the host has free.
int guide_prefetch(uint64_t memory_available_bytes);

}  // namespace larmor
