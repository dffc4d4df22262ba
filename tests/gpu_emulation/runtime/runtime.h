// What the other libraries of the emulation ask of the runtime: NCCL, the operators and the driver.
// Thread-safe. The environment, besides EMULATED_GPUS of machine.h:
//   EMULATED_ORDER     end (default): a mistake in the order of works ends the process; report: it is only
//   printed EMULATED_QUERIES   how often an event that has come is still said not to be there (default 1)
//   EMULATED_COUNTERS  a folder: each process writes PID.json there when it ends, with what it asked of the
//   cards EMULATED_TRACE     1: a line on stderr for contexts, refused memory and collectives
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <cuda_runtime_api.h>

#include "tests/gpu_emulation/runtime/counters.h"
#include "tests/gpu_emulation/runtime/stream.h"

namespace emulated {

/// Where the host reads and writes what a device pointer means; other pointers come back unchanged.
void* host_address(const void* pointer);
bool is_device_address(const void* pointer);

/// Which card of the machine the calling thread's current device is, after CUDA_VISIBLE_DEVICES.
std::string current_pci_address();
/// Counts a collective of the current device. What is to become of it (fault.h).
struct CollectiveFault {
  bool fails = false, kills = false, sticks = false;
};
CollectiveFault fault_of_collective();
bool has_context(int device);
bool is_traced();
/// Whether cards compute nothing and keep nothing but what is small (operators/hollow.h).
bool is_hollow();
/// Tensors of no more numbers are small, and copies of no more bytes of eight each.
constexpr int64_t most_computed_numbers = 4096;
bool is_kept(size_t bytes);

/// Fills memory of a device with bytes that are no numbers, unless cards are hollow.
void poison(const void* pointer, size_t bytes);

struct Access {
  const void* pointer = nullptr;
  size_t bytes = 0;
  bool writes = false;
};

/// A work that the host's thread does at once, in the order of its stream. Where the stream is captured
/// (capture.h), it is for a graph to repeat, and what it writes is undone when the capture ends.
class Work {
 public:
  /// Blocks until all that it comes after is done.
  Work(cudaStream_t stream, const char* what);
  void reads(const void* pointer, size_t bytes) { touch(pointer, bytes, /*writes=*/false); }
  void writes(const void* pointer, size_t bytes) { touch(pointer, bytes, /*writes=*/true); }

  const Moment& moment() const { return moment_; }
  const Clock& clock() const { return clock_; }

  bool is_captured() const { return capture_ != nullptr; }
  /// How a graph repeats it, now that it has touched all that it touches. Requires: is_captured().
  void record(std::function<void(cudaStream_t)> run);

 private:
  void touch(const void* pointer, size_t bytes, bool writes);

  std::shared_ptr<Capture> capture_;
  std::vector<Access> accesses_;  // in a capture
  Moment moment_;
  Clock clock_;
};

/// A work that another thread does: it waits for `before`, and finishes `done`.
struct Ticket {
  Pending before;
  std::shared_ptr<Completion> done;
};
Ticket issue(cudaStream_t stream, const char* what, const std::vector<Access>& accesses);

/// Blocks until all that was put on the stream is done, without telling the host so.
void settle(cudaStream_t stream);

bool is_captured(cudaStream_t stream);
/// The error that everything gets which is put on a stream whose capture has come to nothing.
cudaError_t error_of_capture(cudaStream_t stream);
/// Where the stream is captured: says that this cannot be part of a graph, and gives the error for it.
cudaError_t refuse_in_capture(cudaStream_t stream, const std::string& what);
/// The allocator has handed out memory to what computes on the stream. A capture notes and poisons it.
void hand_out(cudaStream_t stream, const void* pointer, size_t bytes);
/// Whether a capture was handed out this memory: it is a graph's as long as it is mapped.
bool is_of_a_graph(const void* pointer);

/// Something that no card forgives: prints it, and ends the process unless EMULATED_ORDER says otherwise.
void report_disorder(const std::string& problem);

}  // namespace emulated
