// What tensors take of the host's memory, counted: on a CPU the twin of the statistics that CUDA's allocator
// keeps of itself. The resident size of the process says less, for freed memory stays with it.
#pragma once

#include <cstdint>

namespace larmor {

struct MeteredMemory {
  int64_t held = 0;  // bytes of storages now
  int64_t peak = 0;  // the most that were held at a time since reset_metered_peak()
};

/// Counts libtorch's CPU allocations from now on, of all threads together. Storages that exist already and
/// those over memory of others (from_blob) never are, whether they live or go; workspaces that oneDNN and
/// BLAS get from the system are not either. Costs 64 bytes and two additions an allocation. Once per process;
/// later calls do nothing. Thread-safe.
void start_memory_meter();

/// Zeros before start_memory_meter(). Thread-safe.
MeteredMemory metered_memory();

/// The peak is what is held now. Thread-safe.
void reset_metered_peak();

/// Allocations that would bring what is held above `bytes` fail as they do where memory has run out; 0 lifts
/// the limit. Thread-safe.
void limit_metered_memory(int64_t bytes);
/// The limit as it was set; 0: none. Thread-safe.
int64_t metered_memory_limit();

}  // namespace larmor
