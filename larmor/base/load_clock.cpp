#include "larmor/base/load_clock.h"

#include <utility>

namespace larmor {

namespace {
// The readers and the transforms do not know for whom they work: the thread does.
thread_local LoadClock* clock_of_thread = nullptr;
}  // namespace

const char* to_text(LoadStage stage) {
  static constexpr std::array<const char*, load_stages> names{"read",     "decompress", "decode",
                                                              "resample", "augment",    "copy"};
  return names[static_cast<std::size_t>(stage)];
}

LoadClock::LoadClock(std::function<void()> after_stage)
    : outer_(std::exchange(clock_of_thread, this)), after_stage_(std::move(after_stage)) {}

LoadClock::~LoadClock() { clock_of_thread = outer_; }

LoadSeconds LoadClock::take() {
  count_until_now();
  return std::exchange(seconds_, {});
}

void LoadClock::count_until_now() {
  const double now = clock_.steady_seconds();
  if (current_ >= 0) seconds_[static_cast<std::size_t>(current_)] += now - mark_;
  mark_ = now;
}

LoadScope::LoadScope(LoadStage stage) : clock_(clock_of_thread) {
  if (clock_ == nullptr) return;
  clock_->count_until_now();
  before_ = std::exchange(clock_->current_, static_cast<int>(stage));
}

LoadScope::~LoadScope() {
  if (clock_ == nullptr) return;
  clock_->count_until_now();
  clock_->current_ = before_;
  clock_->after_stage_();
}

}  // namespace larmor
