// Where the large blocks of tensors on a CPU lie: side by side in one range of addresses that the process
// keeps, so that each step finds the memory of the last one (docs/decisions/0062).
#pragma once

#include <cstddef>
#include <mutex>
#include <unordered_map>

#include "larmor/device/memory/free_ranges.h"

namespace larmor {

/// Blocks of whole pages. What was freed once stays with the process until the pool dies. Thread-safe.
class BlockPool {
 public:
  /// Reserves `room` bytes of addresses, and no memory. Where the system refuses even that, every allocation
  /// is refused.
  explicit BlockPool(size_t room);
  ~BlockPool();
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  /// Null where the room or the system's memory is used up.
  void* allocate(size_t bytes);
  bool owns(const void* block) const;
  /// Requires: owns(block), and allocate() gave it.
  void release(void* block);
  /// What the pool has had of the system so far.
  size_t grown_bytes() const;

 private:
  /// Makes the free part at the end large enough, or gives false.
  bool grow_for(size_t bytes);

  mutable std::mutex mutex_;
  std::byte* start_ = nullptr;
  size_t room_ = 0, grown_ = 0;
  FreeRanges free_;
  std::unordered_map<size_t, size_t> taken_;  // first: bytes
};

/// Tensors of 64 KiB to 1 GiB on the CPU come from a pool as large as the machine's memory; where it has no
/// room, from where they came before. Does nothing where the process's addresses are limited (ulimit -v),
/// under the address sanitizer, which has to see each block, and where start_memory_meter() came first. Once
/// per process; later calls do nothing. Thread-safe.
void start_block_pool();

}  // namespace larmor
