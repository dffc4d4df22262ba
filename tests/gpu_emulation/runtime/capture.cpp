#include "tests/gpu_emulation/runtime/capture.h"

#include <cstdio>
#include <cstring>
#include <utility>

#include "tests/gpu_emulation/runtime/process.h"

namespace emulated {

Capture::Capture(int stream, unsigned long long id, cudaStreamCaptureMode mode)
    : stream_(stream), id_(id), mode_(mode), thread_(std::this_thread::get_id()), threads_{thread_} {}

cudaStreamCaptureStatus Capture::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

void Capture::join() {
  const std::lock_guard lock(mutex_);
  threads_.insert(std::this_thread::get_id());
}

bool Capture::has_this_thread() const {
  const std::lock_guard lock(mutex_);
  return threads_.contains(std::this_thread::get_id());
}

void Capture::save(const void* pointer, size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (changed_.cover(pointer, bytes)) return;  // what they held before the capture is known
  changed_.add(pointer, bytes);
  if (!is_kept(bytes)) return;
  const auto* const place = static_cast<const char*>(host_address(pointer));
  saved_.push_back({pointer, std::vector<char>(place, place + bytes)});
}

void Capture::hand_out(const void* pointer, size_t bytes) {
  poison(pointer, bytes);
  const std::lock_guard lock(mutex_);
  changed_.add(pointer, bytes);
  handed_out_.add(pointer, bytes);
  recording_.steps.push_back(
      {[pointer, bytes](cudaStream_t) { poison(pointer, bytes); }, {{pointer, bytes, /*writes=*/true}}});
}

void Capture::add(Recording::Step step) {
  const std::lock_guard lock(mutex_);
  recording_.steps.push_back(std::move(step));
  ++recording_.works;
}

bool Capture::has_changed(const void* pointer, size_t bytes) const {
  const std::lock_guard lock(mutex_);
  return changed_.meet(pointer, bytes);
}

cudaError_t Capture::refuse(const std::string& what, cudaError_t error) {
  std::fprintf(stderr, "emulated GPU: no graph can be captured of stream %d: %s\n", stream_, what.c_str());
  const std::lock_guard lock(mutex_);
  if (status_ == cudaStreamCaptureStatusActive) status_ = cudaStreamCaptureStatusInvalidated;
  return answer(error);
}

Recording Capture::end(const Ranges& mapped) {
  const std::lock_guard lock(mutex_);
  for (auto each = saved_.rbegin(); each != saved_.rend(); ++each) {
    if (!mapped.cover(each->pointer, each->bytes.size())) continue;
    std::memcpy(host_address(each->pointer), each->bytes.data(), each->bytes.size());
  }
  for (const auto& [begin, end] : handed_out_.all()) {
    const auto* const pointer = reinterpret_cast<const void*>(begin);
    if (mapped.cover(pointer, end - begin)) poison(pointer, end - begin);
  }
  saved_.clear();
  const bool is_whole = std::exchange(status_, cudaStreamCaptureStatusNone) == cudaStreamCaptureStatusActive;
  return is_whole ? std::move(recording_) : Recording{};
}

}  // namespace emulated
