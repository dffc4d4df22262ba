// Captures of streams: what is put on a stream between begin and end becomes works of a graph. Each work is
// done once while it is recorded, because libtorch has to know its results' shapes; what it has overwritten
// is given back at the end, so that a capture takes no effect.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <cuda_runtime_api.h>

#include "tests/gpu_emulation/runtime/ranges.h"
#include "tests/gpu_emulation/runtime/runtime.h"

namespace emulated {

/// What a graph does when it is launched, one after the other, on the stream that it is launched on.
struct Recording {
  struct Step {
    std::function<void(cudaStream_t)> run;
    std::vector<Access> accesses;
  };
  std::vector<Step> steps;
  size_t works = 0;  // steps besides those that poison memory
};

/// Thread-safe.
class Capture {
 public:
  /// By the calling thread.
  Capture(int stream, unsigned long long id, cudaStreamCaptureMode mode);

  int stream() const { return stream_; }
  unsigned long long id() const { return id_; }
  cudaStreamCaptureMode mode() const { return mode_; }
  bool is_of_this_thread() const { return thread_ == std::this_thread::get_id(); }
  cudaStreamCaptureStatus status() const;

  /// The calling thread has put a work on the stream.
  void join();
  bool has_this_thread() const;
  /// A work is about to overwrite these bytes.
  void save(const void* pointer, size_t bytes);
  /// The allocator has handed out these bytes: they hold poison, and do so again whenever the graph has come
  /// here, so that what reads them before they are written is found in a graph as it is without one.
  void hand_out(const void* pointer, size_t bytes);
  void add(Recording::Step step);
  /// Whether works of the capture have changed any of these bytes for its duration.
  bool has_changed(const void* pointer, size_t bytes) const;
  /// Says what cannot be part of a graph, and gives the error back. The capture comes to nothing.
  cudaError_t refuse(const std::string& what, cudaError_t error);
  /// Gives all bytes back what they held where `mapped` has them still. What was recorded, empty where
  /// something was refused.
  Recording end(const Ranges& mapped);

 private:
  struct Saved {
    const void* pointer = nullptr;
    std::vector<char> bytes;
  };

  const int stream_;
  const unsigned long long id_;
  const cudaStreamCaptureMode mode_;
  const std::thread::id thread_;
  mutable std::mutex mutex_;  // of all that follows
  cudaStreamCaptureStatus status_ = cudaStreamCaptureStatusActive;
  std::set<std::thread::id> threads_;  // that have put works on the stream
  std::vector<Saved> saved_;
  Ranges changed_, handed_out_;
  Recording recording_;
};

/// What the calling thread may do while streams are captured.
cudaStreamCaptureMode& capture_mode_of_thread();
/// Whether the calling thread launches a graph: what it puts on a stream was put there once already.
bool& is_launching();

// Calls that a capture forbids. Each says so on stderr, ends what it spoils, and gives the error for the
// caller.

/// A call of a thread that captures: it waits for a device, or may have to.
cudaError_t check_thread(const char* call);
/// A wait or a question for a stream.
cudaError_t check_stream(const char* call, cudaStream_t stream);
/// A wait or a question for an event.
cudaError_t check_event(const char* call, const Event& event);
/// A wait for the calling thread's current device.
cudaError_t check_device(const char* call);
/// A stream that is to wait for an event.
cudaError_t check_order(const Stream& waiting, const Event& event);

}  // namespace emulated
