// Memory in which what nobody wrote is no number: whatever rests on it shows.
#pragma once

#include <cstdint>

namespace larmor {

/// While it lives, what this thread takes for tensors on the CPU, and for workspaces of oneDNN, which
/// libtorch takes in the same way, holds NaN in every type of number from the first byte to the last, between
/// guards that hold it too. Blocks may outlive the scope. The first scope of a process puts itself behind
/// libtorch's allocator: start_poisonable_memory() before there are threads, and none waits for that.
class PoisonedMemory {
 public:
  PoisonedMemory();
  ~PoisonedMemory();
  PoisonedMemory(const PoisonedMemory&) = delete;
  PoisonedMemory& operator=(const PoisonedMemory&) = delete;

  /// Blocks that were freed in the scope and whose guards had been written to.
  int64_t overrun() const;

 private:
  bool outer_;
  int64_t overrun_before_;
};

/// Once per process; later calls do nothing. Thread-safe.
void start_poisonable_memory();

}  // namespace larmor
