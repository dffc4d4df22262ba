// The runtime's functions about graphs, and about captures of streams, the one way to make a graph here.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

#include "tests/gpu_emulation/refused_call.h"
#include "tests/gpu_emulation/runtime/capture.h"
#include "tests/gpu_emulation/runtime/process.h"

using namespace emulated;

namespace {

using SharedRecording = std::shared_ptr<const Recording>;

/// What the handle of a graph, or of one that can be launched, stands for.
SharedRecording& recording_of(void* handle) { return *static_cast<SharedRecording*>(handle); }

cudaStreamCaptureStatus status_of(cudaStream_t stream) {
  const std::lock_guard lock(process().mutex);
  const auto capture = stream_of(stream).capture;
  return capture == nullptr ? cudaStreamCaptureStatusNone : capture->status();
}

/// The calling thread launches a graph.
class LaunchGuard {
 public:
  LaunchGuard() { is_launching() = true; }
  ~LaunchGuard() { is_launching() = false; }
  LaunchGuard(const LaunchGuard&) = delete;
  LaunchGuard& operator=(const LaunchGuard&) = delete;
};

/// A graph has addresses alone: their memory is its user's to keep.
void check_memory(const Recording& recording) {
  const std::lock_guard lock(process().mutex);
  for (const auto& step : recording.steps) {
    for (const Access& access : step.accesses) {
      if (process().memory.mapped().cover(access.pointer, access.bytes)) continue;
      std::fprintf(stderr,
                   "emulated GPU: a graph was launched that %s %zu bytes of memory that was given back\n",
                   access.writes ? "writes" : "reads", access.bytes);
      std::abort();
    }
  }
}

}  // namespace

extern "C" {

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  if (const auto status = enter(current_device()); status != cudaSuccess) return answer(status);
  auto& all = process();
  const int device = stream_of(handle).device;
  // Collectives that were begun end first: what they write may be what the capture has to give back.
  wait_for(pending_of_device(device));
  const std::lock_guard lock(all.mutex);
  Stream& stream = stream_of(handle);
  if (&stream == all.devices[static_cast<size_t>(device)].default_stream.get()) {
    std::fprintf(stderr, "emulated GPU: the default stream was to be captured\n");
    return answer(cudaErrorStreamCaptureUnsupported);
  }
  if (stream.capture != nullptr) return answer(cudaErrorIllegalState);
  stream.capture = std::make_shared<Capture>(stream.number, ++all.known_captures, mode);
  all.captures.push_back(stream.capture);
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
  *graph = nullptr;
  auto& all = process();
  const std::lock_guard lock(all.mutex);
  Stream& stream = stream_of(handle);
  if (stream.capture == nullptr) return answer(cudaErrorIllegalState);
  const bool is_anybodys = stream.capture->mode() == cudaStreamCaptureModeRelaxed;
  if (!is_anybodys && !stream.capture->is_of_this_thread()) return answer(cudaErrorStreamCaptureWrongThread);
  const auto capture = std::exchange(stream.capture, nullptr);
  std::erase(all.captures, capture);
  const bool is_whole = capture->status() == cudaStreamCaptureStatusActive;
  auto recording = std::make_shared<const Recording>(capture->end(all.memory.mapped()));
  if (!is_whole) return answer(cudaErrorStreamCaptureInvalidated);
  *graph = reinterpret_cast<cudaGraph_t>(new SharedRecording(std::move(recording)));
  return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  *status = status_of(stream);
  return cudaSuccess;
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                     unsigned long long* id, cudaGraph_t* graph,
                                     const cudaGraphNode_t** nodes, const cudaGraphEdgeData** edges,
                                     size_t* count) {
  const std::lock_guard lock(process().mutex);
  const auto capture = stream_of(stream).capture;
  if (capture != nullptr && (graph != nullptr || nodes != nullptr || edges != nullptr)) {
    refuse_call("cudaStreamGetCaptureInfo, for the works of a graph,");
  }
  *status = status_of(stream);
  if (id != nullptr) *id = capture == nullptr ? 0 : capture->id();
  if (graph != nullptr) *graph = nullptr;
  if (nodes != nullptr) *nodes = nullptr;
  if (edges != nullptr) *edges = nullptr;
  if (count != nullptr) *count = 0;
  return cudaSuccess;
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  std::swap(*mode, capture_mode_of_thread());
  return cudaSuccess;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  if (nodes != nullptr) refuse_call("cudaGraphGetNodes, for the works themselves,");
  *count = recording_of(graph)->works;
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* executable, cudaGraph_t graph,
                                          unsigned long long) {
  *executable = reinterpret_cast<cudaGraphExec_t>(new SharedRecording(recording_of(graph)));
  return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  if (const auto status = enter(current_device()); status != cudaSuccess) return answer(status);
  const auto status = refuse_in_capture(stream, "a graph was launched on it");
  if (status != cudaSuccess) return status;
  note_call(/*is_wait=*/false);
  ++counters().graph_launches;
  const SharedRecording recording = recording_of(executable);
  check_memory(*recording);
  const LaunchGuard launching;
  for (const auto& step : recording->steps) step.run(stream);
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  const std::unique_ptr<SharedRecording> owned(&recording_of(graph));
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  const std::unique_ptr<SharedRecording> owned(&recording_of(executable));
  return cudaSuccess;
}
}
