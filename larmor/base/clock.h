// Time as an interface: tests turn the hands themselves.
#pragma once

#include <string>

namespace larmor {

class Clock {
 public:
  virtual ~Clock() = default;
  /// Seconds since the epoch; for display and names only, never for a decision.
  virtual double wall_seconds() const = 0;
  /// Seconds that only ever grow; for durations and limits.
  virtual double steady_seconds() const = 0;
  virtual void sleep(double seconds) = 0;
};

class SystemClock final : public Clock {
 public:
  double wall_seconds() const override;
  double steady_seconds() const override;
  void sleep(double seconds) override;
};

/// The one that programs live by.
Clock& system_clock();

/// Moves only when told to.
class ManualClock final : public Clock {
 public:
  double wall_seconds() const override { return now_; }
  double steady_seconds() const override { return now_; }
  void sleep(double seconds) override { now_ += seconds; }
  void set(double seconds) { now_ = seconds; }

 private:
  double now_ = 0;
};

/// "2026-03-02T14:05:09Z"; `compact` gives "20260302-140509", fit for a folder name.
std::string utc_text(double wall_seconds, bool compact = false);

}  // namespace larmor
