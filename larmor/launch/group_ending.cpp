#include "larmor/launch/group_ending.h"

#include <tuple>

#include "larmor/base/text.h"

namespace larmor {
namespace {

constexpr int stopped_status = static_cast<int>(Exit::stopped);
constexpr int rank_lost_status = static_cast<int>(Exit::rank_lost);

/// What the program says for a rank that ended by itself with this status.
Exit exit_for(int status) {
  const bool is_ours =
      status >= static_cast<int>(Exit::usage) && status <= static_cast<int>(Exit::no_progress);
  return is_ours ? static_cast<Exit>(status) : Exit::unexpected;
}

}  // namespace

bool is_failure(const Death& death) {
  if (death.how.lost) return true;
  return !death.how.ending.ok() && !death.by_us && death.how.ending.status != stopped_status;
}

bool is_echo(const Death& death) {
  return !death.how.lost && death.how.ending.signal == 0 && death.how.ending.status == rank_lost_status;
}

std::string who_ended(const RankEnding& how) {
  if (how.ranks == 1) return text("rank ", how.rank);
  return text("the process of ranks ", how.rank, " to ", how.rank + how.ranks - 1);
}

std::string describe(const Death& death) {
  const RankEnding& how = death.how;
  const std::string end = how.lost                 ? "was lost"
                          : how.ending.signal != 0 ? text("was killed by ", signal_name(how.ending.signal))
                                                   : text("ended with exit status ", how.ending.status);
  return text(who_ended(how), " ", end, " ", while_in(how.phase, how.step), how.evidence.empty() ? "" : ": ",
              how.evidence);
}

std::optional<size_t> first_cause(const std::vector<std::optional<Death>>& deaths) {
  std::optional<size_t> first;
  const auto order = [&](size_t rank) {
    const Death& death = *deaths[rank];
    return std::tuple(is_echo(death), death.round, death.how.ending.signal == 0, rank);
  };
  for (size_t rank = 0; rank < deaths.size(); ++rank) {
    if (deaths[rank] && is_failure(*deaths[rank]) && (!first || order(rank) < order(*first))) first = rank;
  }
  return first;
}

GroupEnding ending_by(const Death& death) {
  const bool by_itself = !death.how.lost && death.how.ending.signal == 0;
  GroupEnding result;
  result.exit = by_itself ? exit_for(death.how.ending.status) : Exit::rank_lost;
  result.raw_status = static_cast<int>(result.exit);
  result.first_rank = death.how.rank;
  if (by_itself) result.rank_status = death.how.ending.status;
  result.message = describe(death);
  result.last_lines = death.how.last_lines;
  return result;
}

}  // namespace larmor
