// Rehearsals: a rank that does, at a place that is named beforehand, what ranks do when something goes wrong.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "larmor/base/files/storage.h"
#include "larmor/launch/rank.h"
#include "larmor/watch/status_board.h"

namespace larmor {

/// What LARMOR_FAULT asks for: "rank=1 phase=validating step=5 do=kill", optionally "generation=1" (0).
struct Fault {
  enum class Action {
    kill,       // SIGKILL
    segfault,   // SIGSEGV
    stop,       // SIGSTOP: until somebody continues the process
    exit,       // exit status 1, without a word
    hang,       // does nothing any more, but lives
    full_disk,  // from then on nothing can be written
    slow        // from then on each such phase begins with a pause
  };
  static constexpr int any_rank = -1;
  int rank = 0;
  Phase phase = Phase::starting;
  int64_t step = 0;  // done, as the status board counts: it happens at the first such phase from there on
  int64_t generation = 0;
  Action action = Action::kill;
};

/// Throws Error (usage) with the word that is not understood.
Fault parse_fault(std::string_view setting);

/// One thread.
class FaultPoint {
 public:
  FaultPoint() = default;  // of a rank that does not fail on purpose
  explicit FaultPoint(const Fault& fault);
  /// What LARMOR_FAULT has for this rank. Throws Error (usage) on every rank when it is malformed.
  static FaultPoint from_environment(const Rank& rank);

  /// This rank enters a phase. Returns unless the fault ends or stops the process.
  void reach(Phase phase, int64_t step);
  /// Whether reach() would stop the process here: a thread that it catches within a write may finish that one
  /// when the process goes on.
  bool stops_at(Phase phase, int64_t step) const;
  /// make_storage(), or the one whose disk will be full.
  std::unique_ptr<Storage> storage() const;

 private:
  struct Disk;
  bool is_due(Phase phase, int64_t step) const;
  std::optional<Fault> fault_;
  std::shared_ptr<Disk> disk_;
};

}  // namespace larmor
