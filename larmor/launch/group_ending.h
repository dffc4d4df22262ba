// How a group of ranks ended, and which of them was the reason.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "larmor/base/error.h"
#include "larmor/launch/hosts/host.h"

namespace larmor {

/// What the program exits with, and the sentence that says why.
struct GroupEnding {
  Exit exit = Exit::done;
  int raw_status = 0;      // exit status to pass on: exit, or 128 + signal when that ended the ranks
  int first_rank = -1;     // that failed first; -1 when none did
  int rank_status = 0;     // that rank's own, where it ended by itself
  std::string message;     // rank, signal or status, phase, step
  std::string last_lines;  // of that rank's log
  bool has_lost_hosts = false;
  bool was_asked = false;  // a signal had asked for an end, however it came about

  /// Whether another start from the newest checkpoint may do better: not after an end that was asked for, nor
  /// after one that words, data, disk or numbers will bring about again.
  bool is_worth_a_restart() const {
    return !was_asked && (exit == Exit::rank_lost || exit == Exit::unexpected);
  }
};

struct Death {
  RankEnding how;
  int round = 0;       // of events: those of one round happened at once, as far as we can tell
  bool by_us = false;  // by a signal that we sent or passed on
};

/// Whether it is a rank's own failure, and no end that was asked for.
bool is_failure(const Death& death);
/// Whether the rank ended because it had lost a peer.
bool is_echo(const Death& death);
/// "rank 3", "the process of ranks 0 to 3".
std::string who_ended(const RankEnding& how);
/// "rank 3 was killed by SIGSEGV while computing step 120".
std::string describe(const Death& death);
/// The index of the death that brought about the others; nothing when none is a failure. A rank that only
/// lost its peers echoes another's end, even when the echo arrives first.
std::optional<size_t> first_cause(const std::vector<std::optional<Death>>& deaths);
/// The ending of a group of which that one was the reason.
GroupEnding ending_by(const Death& death);

}  // namespace larmor
