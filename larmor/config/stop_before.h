// train.stop_before as it is written: when a run has to have stopped.
#pragma once

#include <string_view>

namespace larmor {

struct StopBefore {
  enum class Kind {
    automatic,  // before the scheduler's job ends
    never,
    moment,  // at that time
    length   // so long after the start
  };
  Kind kind = Kind::automatic;
  double seconds = 0;  // since the epoch, for a moment; for a length how long
};

/// "auto", "never", "2026-11-21T23:00:00Z" (seconds may be missing), "12h". Throws Error (usage) on anything
/// else, epochs and steps among them.
StopBefore parse_stop_before(std::string_view written);

}  // namespace larmor
