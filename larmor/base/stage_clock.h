// What a loader's worker does with its time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "larmor/base/clock.h"

namespace larmor {

/// From the file to the batch. `augment` is all of a chain but its interpolations.
enum class LoadStage : uint8_t { read, decompress, decode, resample, augment, copy };
inline constexpr std::size_t load_stages = 6;
const char* to_text(LoadStage stage);

using StageSeconds = std::array<double, load_stages>;

/// While it lives, counts what its thread spends within each StageScope. One at a time in a thread; threads
/// do not know of each other's.
class StageClock {
 public:
  /// `after_stage` is called on its thread at the end of each StageScope.
  explicit StageClock(std::function<void()> after_stage = [] {});
  ~StageClock();
  StageClock(const StageClock&) = delete;
  StageClock& operator=(const StageClock&) = delete;

  /// Since the last call, or since this was made.
  StageSeconds take();

 private:
  friend class StageScope;
  void count_until_now();

  std::function<void()> after_stage_;
  SystemClock clock_;
  StageSeconds seconds_{};
  double mark_ = 0;
  int current_ = -1;  // index of the innermost scope's stage; -1: outside of all
};

/// The time of an inner scope is not the outer one's. Costs nothing in a thread without a StageClock.
class StageScope {
 public:
  explicit StageScope(LoadStage stage);
  ~StageScope();
  StageScope(const StageScope&) = delete;
  StageScope& operator=(const StageScope&) = delete;

 private:
  int before_ = -1;
};

}  // namespace larmor
