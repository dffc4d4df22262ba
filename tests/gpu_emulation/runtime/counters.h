// How often a process asked a card for what costs time.
#pragma once

#include <atomic>
#include <cstdint>

namespace emulated {

struct Counters {
  std::atomic<uint64_t> kernels = 0;  // operators, fills and copies on the device, outside of graphs
  std::atomic<uint64_t> graph_launches = 0;
  std::atomic<uint64_t> host_waits = 0;  // the host waits for a stream, an event or the device
  std::atomic<uint64_t> copies_to_host = 0;
  std::atomic<uint64_t> copies_to_device = 0;
  std::atomic<uint64_t> overlapping_copies = 0;  // of these, beside works of the default stream
  std::atomic<uint64_t> pageable_asynchronous_copies =
      0;                                  // of memory that is not pinned, without a wait behind them
  std::atomic<uint64_t> allocations = 0;  // by the driver
  std::atomic<uint64_t> collectives = 0;
  std::atomic<uint64_t> own_kernels = 0;  // operators of Larmor's by their kernels for GPUs
};

Counters& counters();

}  // namespace emulated
