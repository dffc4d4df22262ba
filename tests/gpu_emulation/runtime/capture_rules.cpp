// What may not be done while a stream is captured: on a card, or because a graph would go wrong silently.
#include <cstdio>
#include <memory>
#include <string>

#include "tests/gpu_emulation/runtime/capture.h"
#include "tests/gpu_emulation/runtime/process.h"

namespace emulated {
namespace {

/// A capture that the calling thread takes part in, or has to mind. Requires: the process is locked.
Capture* capture_of_thread() {
  const auto own = capture_mode_of_thread();
  if (own == cudaStreamCaptureModeRelaxed) return nullptr;
  for (const auto& capture : process().captures) {
    if (capture->mode() == cudaStreamCaptureModeRelaxed) continue;
    const bool is_for_all = capture->mode() == cudaStreamCaptureModeGlobal;
    if (capture->has_this_thread() || (is_for_all && own == cudaStreamCaptureModeGlobal))
      return capture.get();
  }
  return nullptr;
}

/// An event that was recorded in a capture. Requires: the process is locked.
cudaError_t refuse_event(const Event& event, const std::string& what, cudaError_t error) {
  if (event.capture->status() != cudaStreamCaptureStatusNone) return event.capture->refuse(what, error);
  std::fprintf(stderr, "emulated GPU: %s, which is over\n", what.c_str());
  return answer(cudaErrorCapturedEvent);
}

/// A call that no thread may make which takes part in a capture. Requires: the process is locked.
cudaError_t refuse_by_thread(const char* call) {
  Capture* const capture = capture_of_thread();
  if (capture == nullptr) return cudaSuccess;
  const char* const who = capture->has_this_thread()
                              ? " was called by a thread that takes part in its capture"
                              : " was called beside a capture of mode global";
  return capture->refuse(std::string(call) + who, cudaErrorStreamCaptureUnsupported);
}

}  // namespace

cudaStreamCaptureMode& capture_mode_of_thread() {
  thread_local cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  return mode;
}

cudaError_t check_thread(const char* call) {
  const std::lock_guard lock(process().mutex);
  return refuse_by_thread(call);
}

cudaError_t check_stream(const char* call, cudaStream_t stream) {
  const std::lock_guard lock(process().mutex);
  const auto capture = stream_of(stream).capture;
  if (capture == nullptr) return refuse_by_thread(call);
  return capture->refuse(std::string(call) + " was called for it, and a graph has no host that waits",
                         cudaErrorStreamCaptureUnsupported);
}

cudaError_t check_event(const char* call, const Event& event) {
  const std::lock_guard lock(process().mutex);
  if (event.capture == nullptr) return refuse_by_thread(call);
  return refuse_event(event, std::string(call) + " was called for an event that was recorded in a capture",
                      cudaErrorCapturedEvent);
}

cudaError_t check_device(const char* call) {
  const std::lock_guard lock(process().mutex);
  for (const auto& stream : process().streams) {
    if (stream->capture == nullptr || stream->device != current_device()) continue;
    return stream->capture->refuse(std::string(call) + " was called for its device",
                                   cudaErrorStreamCaptureUnsupported);
  }
  return refuse_by_thread(call);
}

cudaError_t check_order(const Stream& waiting, const Event& event) {
  if (event.capture == waiting.capture || (event.capture == nullptr && !event.is_recorded))
    return cudaSuccess;
  constexpr auto error = cudaErrorStreamCaptureIsolation;
  constexpr auto one_stream = " waits, where one stream is all that is emulated, for an event that was ";
  if (waiting.capture != nullptr) {
    waiting.capture->refuse("it" + std::string(one_stream) + "not recorded in the capture", error);
  }
  if (event.capture == nullptr) return error;
  return refuse_event(
      event, "stream " + std::to_string(waiting.number) + one_stream + "recorded in a capture", error);
}

bool is_captured(cudaStream_t stream) {
  const std::lock_guard lock(process().mutex);
  return stream_of(stream).capture != nullptr;
}

cudaError_t error_of_capture(cudaStream_t stream) {
  const std::lock_guard lock(process().mutex);
  const auto capture = stream_of(stream).capture;
  if (capture == nullptr || capture->status() == cudaStreamCaptureStatusActive) return cudaSuccess;
  return answer(cudaErrorStreamCaptureInvalidated);
}

cudaError_t refuse_in_capture(cudaStream_t stream, const std::string& what) {
  const std::lock_guard lock(process().mutex);
  const auto capture = stream_of(stream).capture;
  return capture == nullptr ? cudaSuccess : capture->refuse(what, cudaErrorStreamCaptureUnsupported);
}

void hand_out(cudaStream_t stream, const void* pointer, size_t bytes) {
  const std::lock_guard lock(process().mutex);
  const auto capture = stream_of(stream).capture;
  // A capture that has come to nothing gets memory that is not of its pool.
  if (capture == nullptr || capture->status() != cudaStreamCaptureStatusActive) return;
  process().graph_memory.add(pointer, bytes);
  capture->hand_out(pointer, bytes);
}

bool is_of_a_graph(const void* pointer) {
  const std::lock_guard lock(process().mutex);
  return process().graph_memory.cover(pointer, 1);
}

}  // namespace emulated
