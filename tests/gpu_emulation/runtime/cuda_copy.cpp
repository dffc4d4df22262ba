// The runtime's functions that copy and fill.
#include <cstdio>
#include <cstring>

#include "tests/gpu_emulation/runtime/capture.h"
#include "tests/gpu_emulation/runtime/process.h"

using namespace emulated;

namespace {

bool goes_to_device(cudaMemcpyKind kind) {
  return kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
}

bool comes_from_device(cudaMemcpyKind kind) {
  return kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
}

/// A copy to the host. Pinned memory gets the bytes when the host knows that they are there.
void copy_to_host(const Work& work, void* to, const void* from, size_t bytes) {
  ++counters().copies_to_host;
  const auto* const source = static_cast<const char*>(host_address(from));
  const std::lock_guard lock(process().mutex);
  if (is_pinned(to)) return process().copies.to_host(work.moment(), static_cast<char*>(to), source, bytes);
  std::memmove(to, source, bytes);
  note_pageable_copy();
}

/// A copy overlaps with works of the default stream that it does not come after, or that come after it and do
/// not wait for it.
void note_overlap(const Work& work, const void* to) {
  const auto device = static_cast<size_t>(process().memory.device_of(to));
  const Stream& computing = *process().devices[device].default_stream;
  if (work.moment().stream == computing.number) return;
  if (work.clock().of(computing.number) < computing.last_work) {
    ++counters().overlapping_copies;
  } else {
    process().side_copies.push_back({work.moment(), computing.count});
  }
}

void copy_to_device(const Work& work, void* to, const void* from, size_t bytes) {
  ++counters().copies_to_device;
  const std::lock_guard lock(process().mutex);
  note_overlap(work, to);
  const auto* const source = static_cast<const char*>(from);
  if (is_pinned(from)) {
    process().copies.deliver(source, bytes, work.clock());
    process().copies.from_host(work.moment(), source, bytes);
  } else {
    note_pageable_copy();
  }
  std::memmove(host_address(to), source, bytes);
}

cudaError_t copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  const bool to_device = is_device_address(to), from_device = is_device_address(from);
  const bool is_as_said = kind == cudaMemcpyDefault ||
                          (to_device == goes_to_device(kind) && from_device == comes_from_device(kind));
  if (!is_as_said) {
    std::fprintf(stderr, "emulated GPU: a copy of kind %d from %s memory to %s memory\n", kind,
                 from_device ? "device" : "host", to_device ? "device" : "host");
    return answer(cudaErrorInvalidValue);
  }
  if (bytes == 0) return cudaSuccess;
  if (!to_device || !from_device) {
    const auto status = refuse_in_capture(stream, "memory of the host is copied, at each launch anew");
    if (status != cudaSuccess) return status;
  }
  if (const auto status = error_of_capture(stream); status != cudaSuccess) return status;
  Work work(stream, "a copy");
  work.reads(from, bytes);
  work.writes(to, bytes);
  if (work.is_captured()) work.record([=](cudaStream_t later) { copy(to, from, bytes, kind, later); });
  if (to_device && !is_kept(bytes)) return cudaSuccess;
  if (from_device && !to_device) {
    copy_to_host(work, to, from, bytes);
  } else if (to_device && !from_device) {
    copy_to_device(work, to, from, bytes);
  } else {
    std::memmove(host_address(to), host_address(from), bytes);
  }
  return cudaSuccess;
}

}  // namespace

extern "C" {

cudaError_t cudaStreamSynchronize(cudaStream_t stream);

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  if (const auto status = enter(current_device()); status != cudaSuccess) return answer(status);
  return copy(to, from, bytes, kind, stream);
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  if (const auto status = check_thread("cudaMemcpy"); status != cudaSuccess) return status;
  const auto status = cudaMemcpyAsync(to, from, bytes, kind, nullptr);
  return status != cudaSuccess ? status : cudaStreamSynchronize(nullptr);
}

cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, size_t bytes, cudaStream_t stream) {
  return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream);
}

cudaError_t cudaMemsetAsync(void* pointer, int value, size_t bytes, cudaStream_t stream) {
  if (const auto status = enter(current_device()); status != cudaSuccess) return answer(status);
  if (bytes == 0) return cudaSuccess;
  if (const auto status = error_of_capture(stream); status != cudaSuccess) return status;
  Work work(stream, "a fill");
  work.writes(pointer, bytes);
  if (work.is_captured())
    work.record([=](cudaStream_t later) { cudaMemsetAsync(pointer, value, bytes, later); });
  if (is_kept(bytes)) std::memset(host_address(pointer), value, bytes);
  return cudaSuccess;
}

cudaError_t cudaMemset(void* pointer, int value, size_t bytes) {
  return cudaMemsetAsync(pointer, value, bytes, nullptr);
}
}
