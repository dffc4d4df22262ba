// Graphs by libtorch's CUDAGraph, which gives each a memory of its own.
#include <algorithm>
#include <exception>
#include <mutex>
#include <vector>

#include <ATen/core/CachingHostAllocator.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>

#include "larmor/device/cuda/cuda.h"
#include "larmor/device/cuda/graph.h"

namespace larmor::cuda {

namespace {

namespace allocator = c10::cuda::CUDACachingAllocator;

/// The streams of all threads that are being recorded: backward launches from a thread of its own.
class RecordedStreams {
 public:
  void add(c10::Stream stream) {
    const std::lock_guard guard(mutex_);
    streams_.push_back(stream);
  }
  void remove(c10::Stream stream) {
    const std::lock_guard guard(mutex_);
    std::erase(streams_, stream);
  }
  bool contain(c10::Stream stream) {
    const std::lock_guard guard(mutex_);
    return std::ranges::find(streams_, stream) != streams_.end();
  }

 private:
  std::mutex mutex_;
  std::vector<c10::Stream> streams_;
};

RecordedStreams& recorded_streams() {
  static RecordedStreams all;
  return all;
}

void wait_for(const c10::Stream& earlier, const c10::Stream& later) {
  c10::Event event(c10::kCUDA);
  event.record(earlier);
  event.block(later);
}

class RecordedGraph final : public Graph {
 public:
  RecordedGraph(c10::DeviceIndex device, const std::function<void()>& compute)
      : device_(device), pool_(at::cuda::graph_pool_handle()) {
    // The stream that training computes on cannot be recorded: it is CUDA's default one.
    const c10::Stream side = c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device);
    const c10::Stream computing = c10::cuda::getCurrentCUDAStream(device);
    wait_for(computing, side);
    {
      const c10::StreamGuard guard(side);
      record(side, compute);
    }
    wait_for(side, computing);
  }
  void replay() override { graph_.replay(); }

 private:
  void record(c10::Stream side, const std::function<void()>& compute) {
    // Threads that load data go on calling CUDA meanwhile.
    graph_.capture_begin(pool_, cudaStreamCaptureModeThreadLocal);
    recorded_streams().add(side);
    std::exception_ptr failure;
    try {
      compute();
    } catch (...) {
      failure = std::current_exception();
    }
    recorded_streams().remove(side);
    try {
      graph_.capture_end();
    } catch (...) {
      if (!failure) failure = std::current_exception();
      leave_pool();
    }
    if (failure) std::rethrow_exception(failure);
  }

  /// capture_end() does not come to this where CUDA has ended the recording: both allocators would keep
  /// asking the graph, which is about to go, whether memory is for it.
  void leave_pool() {
    allocator::endAllocateToPool(device_, pool_);
    allocator::releasePool(device_, pool_);
    auto* const of_host = at::getHostAllocator(c10::kCUDA);
    of_host->end_allocate_to_pool(pool_);
    of_host->release_pool(pool_);
  }

  c10::DeviceIndex device_;
  c10::MempoolId_t pool_;
  at::cuda::CUDAGraph graph_;
};

}  // namespace

std::unique_ptr<Graph> record_graph(int index, const std::function<void()>& compute) {
  return std::make_unique<RecordedGraph>(static_cast<c10::DeviceIndex>(index), compute);
}

bool is_recording() { return recorded_streams().contain(c10::cuda::getCurrentCUDAStream()); }

}  // namespace larmor::cuda
