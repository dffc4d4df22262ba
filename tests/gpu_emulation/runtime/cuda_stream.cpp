// The runtime's functions about streams and events.
#include <algorithm>
#include <memory>
#include <utility>

#include "tests/gpu_emulation/runtime/capture.h"
#include "tests/gpu_emulation/runtime/process.h"

using namespace emulated;

namespace {

Event& event_of(cudaEvent_t handle) { return *reinterpret_cast<Event*>(handle); }

float milliseconds_between(const timespec& begin, const timespec& end) {
  constexpr float per_second = 1e3F, per_nanosecond = 1e-6F;
  return static_cast<float>(end.tv_sec - begin.tv_sec) * per_second +
         static_cast<float>(end.tv_nsec - begin.tv_nsec) * per_nanosecond;
}

/// The default stream is about to wait for what comes before `clock`.
void settle_side_copies(const Stream& computing, const Clock& clock) {
  std::erase_if(process().side_copies, [&](const SideCopy& copy) {
    if (copy.moment.count > clock.of(copy.moment.stream)) return false;
    if (computing.last_work > copy.before) ++counters().overlapping_copies;
    return true;
  });
}

}  // namespace

extern "C" {

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* handle, unsigned flags, int priority) {
  if (const auto status = enter(current_device()); status != cudaSuccess) return answer(status);
  auto& all = process();
  const std::lock_guard lock(all.mutex);
  auto stream = std::make_unique<Stream>();
  stream->number = all.known_streams++;
  stream->device = current_device();
  stream->flags = flags;
  stream->priority = priority;
  *handle = reinterpret_cast<cudaStream_t>(stream.get());
  all.streams.push_back(std::move(stream));
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  settle(handle);
  auto& all = process();
  const std::lock_guard lock(all.mutex);
  std::erase_if(all.streams,
                [&](const auto& each) { return each.get() == reinterpret_cast<Stream*>(handle); });
  return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t handle) {
  if (const auto status = enter(current_device()); status != cudaSuccess) return answer(status);
  if (const auto status = check_stream("cudaStreamQuery", handle); status != cudaSuccess) return status;
  if (!pending_of(handle).empty()) return cudaErrorNotReady;
  const std::lock_guard lock(process().mutex);
  host_learns(stream_of(handle).clock);
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  if (const auto status = enter(current_device()); status != cudaSuccess) return answer(status);
  if (const auto status = check_stream("cudaStreamSynchronize", handle); status != cudaSuccess) return status;
  note_call(/*is_wait=*/true);
  ++counters().host_waits;
  settle(handle);
  const std::lock_guard lock(process().mutex);
  host_learns(stream_of(handle).clock);
  return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned) {
  const std::lock_guard lock(process().mutex);
  Stream& stream = stream_of(handle);
  if (const auto status = check_order(stream, event_of(event)); status != cudaSuccess) return status;
  const bool is_default =
      &stream == process().devices[static_cast<size_t>(stream.device)].default_stream.get();
  if (is_default) settle_side_copies(stream, event_of(event).clock);
  stream.clock.merge(event_of(event).clock);
  add_to(stream.pending, event_of(event).pending);
  return cudaSuccess;
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* argument,
                                  unsigned) {
  const auto status = refuse_in_capture(stream, "a call of the host was put on it");
  if (status != cudaSuccess) return status;
  settle(stream);
  callback(stream, cudaSuccess, argument);
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* handle, unsigned flags) {
  if (const auto status = enter(current_device()); status != cudaSuccess) return answer(status);
  *handle = reinterpret_cast<cudaEvent_t>(new Event{.device = current_device(), .flags = flags});
  return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t* handle) { return cudaEventCreateWithFlags(handle, 0); }

cudaError_t cudaEventDestroy(cudaEvent_t handle) {
  const std::unique_ptr<Event> event(&event_of(handle));
  return cudaSuccess;
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t handle, cudaStream_t stream, unsigned) {
  static const auto refusals = static_cast<int>(read_number("EMULATED_QUERIES", 1));
  const std::lock_guard lock(process().mutex);
  Event& event = event_of(handle);
  Stream& recorded = stream_of(stream);
  event.capture = recorded.capture;
  event.is_recorded = true;
  if (event.capture != nullptr) {  // the order within a graph is its own
    event.clock = {};
    event.pending = {};
    return error_of_capture(stream);
  }
  event.pending = pending_of(stream);
  recorded.clock.set(recorded.number, ++recorded.count);  // the record is a work of its own
  event.clock = recorded.clock;
  event.refusals = refusals;
  clock_gettime(CLOCK_MONOTONIC, &event.time);
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return cudaEventRecordWithFlags(event, stream, 0);
}

cudaError_t cudaEventQuery(cudaEvent_t handle) {
  if (const auto status = enter(current_device()); status != cudaSuccess) return answer(status);
  const std::lock_guard lock(process().mutex);
  Event& event = event_of(handle);
  if (const auto status = check_event("cudaEventQuery", event); status != cudaSuccess) return status;
  // The host may know by another wait that it has come.
  const bool is_known = process().host.covers(event.clock);
  if (!are_done(event.pending) || (!is_known && event.refusals-- > 0)) return cudaErrorNotReady;
  host_learns(event.clock);
  return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t handle) {
  if (const auto status = enter(current_device()); status != cudaSuccess) return answer(status);
  const auto status = check_event("cudaEventSynchronize", event_of(handle));
  if (status != cudaSuccess) return status;
  note_call(/*is_wait=*/true);
  ++counters().host_waits;
  Pending pending;
  Clock clock;
  {
    const std::lock_guard lock(process().mutex);
    pending = event_of(handle).pending;
    clock = event_of(handle).clock;
  }
  wait_for(pending);
  host_learns(clock);
  return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  const Event &from = event_of(begin), &to = event_of(end);
  const bool is_timed = ((from.flags | to.flags) & cudaEventDisableTiming) == 0;
  if (from.capture != nullptr || to.capture != nullptr) return answer(cudaErrorCapturedEvent);
  if (!from.is_recorded || !to.is_recorded || !is_timed) return answer(cudaErrorInvalidResourceHandle);
  *milliseconds = milliseconds_between(from.time, to.time);
  return cudaSuccess;
}
}
