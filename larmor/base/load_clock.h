// What a loader's worker does with its time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "larmor/base/clock.h"

namespace larmor {

/// The parts of the way from the file to the batch. `augment` is all of a chain but its interpolations.
enum class LoadStage : uint8_t { read, decompress, decode, resample, augment, copy };
inline constexpr std::size_t load_stages = 6;
const char* to_text(LoadStage stage);

using LoadSeconds = std::array<double, load_stages>;

/// While it lives, counts what its thread spends within each LoadScope that begins meanwhile. The innermost
/// one of a thread counts; threads do not know of each other's.
class LoadClock {
 public:
  /// `after_stage` is called on its thread at the end of each LoadScope.
  explicit LoadClock(std::function<void()> after_stage = [] {});
  ~LoadClock();
  LoadClock(const LoadClock&) = delete;
  LoadClock& operator=(const LoadClock&) = delete;

  /// What was measured since the last call, or since this was made.
  LoadSeconds take();

 private:
  friend class LoadScope;
  void count_until_now();

  LoadClock* outer_;
  std::function<void()> after_stage_;
  SystemClock clock_;
  LoadSeconds seconds_{};
  double mark_ = 0;
  int current_ = -1;  // index of the innermost scope's stage; -1: outside of all
};

/// The time of an inner scope is not the outer one's. Costs nothing in a thread without a LoadClock.
class LoadScope {
 public:
  explicit LoadScope(LoadStage stage);
  ~LoadScope();
  LoadScope(const LoadScope&) = delete;
  LoadScope& operator=(const LoadScope&) = delete;

 private:
  LoadClock* clock_;
  int before_ = -1;
};

}  // namespace larmor
