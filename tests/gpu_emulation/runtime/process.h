// All that the runtime knows of this process: its devices, their memory, streams and clocks.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "tests/gpu_emulation/machine.h"
#include "tests/gpu_emulation/runtime/device_memory.h"
#include "tests/gpu_emulation/runtime/host_copies.h"
#include "tests/gpu_emulation/runtime/runtime.h"

namespace emulated {

struct Device {
  Card card;
  size_t used = 0;  // bytes
  bool has_context = false;
  cudaError_t failure = cudaSuccess;  // stays
  std::unique_ptr<Stream> default_stream = {};
};

struct PinnedBlock {
  size_t bytes = 0;
  bool is_ours = false;  // it was allocated here, not only registered
};

/// A copy to a device on another stream than the default one, which has yet to wait for it.
struct SideCopy {
  Moment moment;
  uint64_t before = 0;  // works of the default stream that were put on it earlier
};

struct Process {
  Process();

  /// False where the card has no room for them, or a fault strikes. Requires: the mutex is held.
  bool take_bytes(int device, size_t bytes);
  /// Bytes went back to the driver, which waits for the device. Requires: the mutex is held.
  void forget(void* pointer, size_t bytes);

  std::recursive_mutex mutex;   // of all that follows
  std::vector<Device> devices;  // as CUDA_VISIBLE_DEVICES says
  DeviceMemory memory;
  std::vector<std::unique_ptr<Stream>> streams;
  int known_streams = 0;
  Clock host;  // which works the host knows to be done
  OrderCheck order;
  std::vector<std::shared_ptr<Capture>> captures;  // under way
  unsigned long long known_captures = 0;
  Ranges graph_memory;  // that captures were handed out
  HostCopies copies;
  std::vector<SideCopy> side_copies;
  std::map<uintptr_t, PinnedBlock> pinned;
  pid_t user = 0;  // the process that used a device first: a forked child cannot go on with its context
};

Process& process();

/// The calling thread's current device.
int& current_device();

/// Remembers an error for cudaGetLastError() and gives it back.
cudaError_t answer(cudaError_t status);
cudaError_t& last_error();

/// Makes the context of a device where it is not there yet. What a call returns that cannot go on.
cudaError_t enter(int device);

Stream& stream_of(cudaStream_t handle);
Pending pending_of(cudaStream_t handle);
Pending pending_of_device(int device);
/// The host has learnt that everything up to `known` is done.
void host_learns(const Clock& known);
/// Waits for all works of a device, and tells the host so.
void synchronize_device(int device);
bool is_pinned(const void* pointer);

/// Any call may be the one that shows that a copy of pageable memory was not waited for.
void note_call(bool is_wait);
void note_pageable_copy();

/// Loads the operators once libtorch has registered its own.
void load_operators();

}  // namespace emulated
