#include "tests/gpu_emulation/runtime/stream.h"

#include <algorithm>

namespace emulated {

void Completion::finish() {
  const std::lock_guard lock(mutex_);
  done_ = true;
  changed_.notify_all();
}

void Completion::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return done_; });
}

bool Completion::is_done() {
  const std::lock_guard lock(mutex_);
  return done_;
}

void wait_for(const Pending& pending) {
  for (const auto& each : pending) each->wait();
}

bool are_done(const Pending& pending) {
  return std::all_of(pending.begin(), pending.end(), [](const auto& each) { return each->is_done(); });
}

void add_to(Pending& pending, const Pending& more) {
  std::erase_if(pending, [](const auto& each) { return each->is_done(); });
  for (const auto& each : more) {
    if (each->is_done() || std::find(pending.begin(), pending.end(), each) != pending.end()) continue;
    pending.push_back(each);
  }
}

}  // namespace emulated
