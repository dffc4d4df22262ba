// Shows a person how far work is that takes long, in words or as a line on a terminal.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "larmor/base/clock.h"
#include "larmor/base/work_progress.h"
#include "larmor/track/terminal.h"

namespace larmor {

/// "tables of questions: 5000 of 227000, 512000 rows, 250 documents/s, 84 MiB/s, ETA 15 min". Without what
/// took time there is no speed, and nothing is said of it.
std::string describe(const WorkProgress& progress, double seconds);

/// Shows progress on a terminal as a line that is rewritten, elsewhere as a line every ten seconds. Work of
/// another name (`what`), or that has begun anew, has a time of its own. One thread. Borrows the clock.
class WorkReport {
 public:
  /// `patience`: for so many seconds nothing is shown.
  WorkReport(int descriptor, double patience, const Clock& clock);
  /// The report on somebody's terminal, which is borrowed; `rewrites`: whether its line may be rewritten.
  WorkReport(Terminal& terminal, bool rewrites, double patience, const Clock& clock);
  WorkReport(const WorkReport&) = delete;
  WorkReport& operator=(const WorkReport&) = delete;
  void show(const WorkProgress& progress);

 private:
  bool is_due(double seconds);

  const Clock& clock_;
  const bool rewrites_;
  const double patience_;
  std::optional<Terminal> own_terminal_;
  Terminal& terminal_;
  std::string what_;
  double began_ = 0, next_ = 0;
  int64_t last_done_ = 0;
};

}  // namespace larmor
