// What the step events say about where a run stands and how fast it goes, as words for a person.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "larmor/track/tracker.h"

namespace larmor {

/// Words that belong together, and how early they give way when a line is too narrow: 0 never does.
struct ProgressField {
  std::string words;
  int gives_way = 0;
};

/// Speeds are means over the last ten seconds or so of steps; the time that is left counts everything since
/// the first step, validation and saving too.
class ProgressReport {
 public:
  /// `total_steps` 0: unknown. `total_seconds`: of training, of a run whose length is a time; otherwise 0.
  explicit ProgressReport(int64_t total_steps, double total_seconds = 0)
      : total_steps_(total_steps), total_seconds_(total_seconds) {}

  /// `now` in steady seconds.
  void add_step(const Moment& moment, const Values& values, double now);

  /// The fields, in the order of reading.
  std::vector<ProgressField> fields() const;
  /// The part of the whole run, 0 to 1; nothing when its length is unknown.
  std::optional<double> fraction() const;

 private:
  void add_speed(const Values& values);
  void append_losses(std::vector<ProgressField>& out) const;
  void append_optimizer(std::vector<ProgressField>& out) const;
  void append_speed(std::vector<ProgressField>& out) const;
  void append_time_left(std::vector<ProgressField>& out) const;

  int64_t total_steps_;
  double total_seconds_;
  Moment moment_;
  Values values_;
  int64_t first_step_ = -1;
  double first_time_ = 0, last_time_ = 0;
  // Sums in which older steps count less and less.
  double seconds_ = 0, steps_ = 0, examples_ = 0, wait_seconds_ = 0;
};

/// Four significant digits: "0.1234", "1.234e-05".
std::string short_number(double value);

/// The fields in one line of at most `width` letters, after a bar when there is room for one. Fields give way
/// until the rest fits; what never gives way is cut.
std::string progress_line(const ProgressReport& report, int width);

}  // namespace larmor
