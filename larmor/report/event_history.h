// What events.jsonl tells of a run over all its starts (docs/cli.md), in a bounded size.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "larmor/base/json.h"
#include "larmor/track/thinned_curve.h"

namespace larmor {

/// A line of the log that is no step and no validation: a start, a warning, a checkpoint, the end, …
struct Happening {
  double time = 0;  // seconds since the epoch
  int64_t generation = 0, step = 0;
  std::string kind, words;
};

/// Where the time of a run went, in seconds.
struct TimeSpent {
  double computing = 0;  // in steps, without what follows
  double waiting_for_data = 0;
  double validating = 0;  // from the last step to the figures
  double saving = 0;      // while steps stood still for a save
  double starting = 0;    // from the beginning of a start to its first step, without that step
  double standing = 0;    // between the last line of a start and the next start
};

struct EventHistory {
  std::map<std::string, ThinnedCurve> curves;  // by the name of the value: "train/loss"
  /// What happened, in the order of the log; of those that come often the first and the last are kept.
  std::vector<Happening> happenings;
  int64_t happenings_left_out = 0;
  Json facts = Json::object();  // of the last start
  int64_t starts = 0, last_step = 0;
  std::optional<double> began, ended;  // the times of the first and the last line
  TimeSpent time;
  int64_t unread_lines = 0;  // cut off by the end of their writer, or of a form that is not known
};

/// Where there is no file, or an empty one: a history of nothing. Throws Error (environment) where it cannot
/// be read.
EventHistory read_events(const std::filesystem::path& file);

}  // namespace larmor
