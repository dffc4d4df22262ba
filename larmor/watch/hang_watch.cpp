#include "larmor/watch/hang_watch.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string_view>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/config/units.h"
#include "larmor/watch/collective_order.h"

namespace larmor {
namespace {

// Before its first step a rank opens files and devices, whatever its limit is afterwards.
constexpr double least_start = 60;

bool is_at_work(const RankStatus& status) { return status.phase != Phase::finished && !status.is_waiting(); }

/// Whole seconds where they say enough.
std::string hang_seconds(double seconds) {
  return seconds < 10 ? text(fixed(seconds, 1), " s") : text(fixed(seconds, 0), " s");
}

/// "; ranks 0, 2, 3 wait for it in all_reduce #118 (1,048,576 float32)"
std::string waiters_text(const std::vector<RankStatus>& ranks) {
  std::map<std::string, std::vector<int>> waiters;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    if (!ranks[rank].is_waiting()) continue;
    const auto& waits_for = ranks[rank].waits_for;
    waiters[waits_for ? to_text(*waits_for) : "a collective"].push_back(static_cast<int>(rank));
  }
  std::string words;
  for (const auto& [collective, waiting] : waiters) {
    words +=
        text("; ", ranks_text(waiting), waiting.size() == 1 ? " waits" : " wait", " for it in ", collective);
  }
  return words;
}

std::string came_with(const CollectiveState& state) {
  return state.kind == CollectiveState::Kind::begun ? text("came with ", to_text(state.collective))
                                                    : "did not come";
}

std::string difference_text(const CollectiveOrder::Difference& difference, const RankStatus& culprit) {
  const auto others = ranks_text(difference.others);
  if (difference.differs.kind == CollectiveState::Kind::begun)
    return text("it ", came_with(difference.differs), " where ", others, " ", came_with(difference.other));
  std::string words =
      text("it did not come to ", to_text(difference.other.collective), ", as ", others, " did");
  if (culprit.waits_for) words += text(", and waits in ", to_text(*culprit.waits_for));
  return words;
}

/// "all_reduce #118" of all that wait, or "" when they wait in different ones.
std::string common_wait(const std::vector<RankStatus>& ranks) {
  std::string common;
  for (const RankStatus& status : ranks) {
    if (!status.is_waiting()) continue;
    const std::string own = status.waits_for ? to_text(*status.waits_for) : "a collective";
    if (!common.empty() && own != common) return "";
    common = own;
  }
  return common;
}

}  // namespace

std::string silence_text(int rank, double seconds, double limit) {
  return text("rank ", rank, " hangs: no heartbeat for ", hang_seconds(seconds), " (limit ",
              hang_seconds(limit), ")");
}

HangLimits parse_hang_limit(const std::string& words) {
  HangLimits limits;
  if (words == "auto") return limits;
  if (words == "never") {
    limits.never = true;
    return limits;
  }
  const auto refuse = [&] {
    fail(Exit::usage, text("parallel.hang_limit=", words, " is no time"),
         "say auto, never, or 90s, 30min, 2h");
  };
  Length length;
  try {
    length = parse_length(words);
  } catch (const Error&) {
    refuse();
  }
  if (length.unit != Length::Unit::seconds || length.amount <= 0) refuse();
  limits.fixed = length.amount;
  return limits;
}

double HangWatch::limit_of(Phase phase, const std::vector<RankStatus>& ranks) const {
  const bool starts = phase == Phase::starting;
  if (limits_.fixed) return starts ? std::max(*limits_.fixed, least_start) : *limits_.fixed;
  double longest = 0;
  for (const RankStatus& status : ranks) longest = std::max(longest, of(status.longest_quiet, phase));
  return std::max(starts ? limits_.start : limits_.floor, limits_.factor * longest);
}

double HangWatch::wait_limit(const std::vector<RankStatus>& ranks) const {
  if (limits_.fixed) return *limits_.fixed;
  // A transfer that takes long holds every rank up; a rank that is late holds up only the others.
  double longest = std::numeric_limits<double>::infinity();
  for (const RankStatus& status : ranks) longest = std::min(longest, status.longest_wait);
  return std::max(limits_.floor, limits_.factor * longest);
}

std::optional<Hang> HangWatch::look(const std::vector<RankStatus>& ranks) const {
  if (limits_.never || ranks.empty()) return std::nullopt;
  if (std::any_of(ranks.begin(), ranks.end(), is_at_work)) return silent_rank(ranks);
  return deadlock(ranks);
}

bool HangWatch::is_silent(const RankStatus& status, const std::vector<RankStatus>& ranks) const {
  return is_at_work(status) && status.quiet > limit_of(status.phase, ranks);
}

std::optional<Hang> HangWatch::silent_rank(const std::vector<RankStatus>& ranks) const {
  std::vector<size_t> silent, active;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    if (is_at_work(ranks[rank])) (is_silent(ranks[rank], ranks) ? silent : active).push_back(rank);
  }
  if (silent.empty()) return std::nullopt;
  if (const auto unlike = unlike_the_others(ranks)) return unlike;
  const CollectiveOrder order(ranks);
  std::optional<Hang> worst;
  for (const size_t rank : silent) {
    const RankStatus& status = ranks[rank];
    if (worst && status.quiet <= worst->seconds) continue;
    const bool may_wait = std::any_of(active.begin(), active.end(),
                                      [&](size_t other) { return order.is_ahead_of(rank, other); });
    if (may_wait) continue;
    worst = Hang{.rank = static_cast<int>(rank),
                 .what = {},
                 .seconds = status.quiet,
                 .limit = limit_of(status.phase, ranks)};
  }
  if (!worst) return worst;
  const RankStatus& status = ranks[static_cast<size_t>(worst->rank)];
  worst->what = text(silence_text(worst->rank, worst->seconds, worst->limit), " ",
                     while_in(status.phase, status.step), waiters_text(ranks));
  return worst;
}

std::optional<Hang> HangWatch::unlike_the_others(const std::vector<RankStatus>& ranks) const {
  for (const RankStatus& status : ranks) {
    if (!is_silent(status, ranks)) return std::nullopt;
  }
  const auto difference = CollectiveOrder(ranks).first_difference();
  if (!difference) return std::nullopt;
  const int rank = difference->differing[0];
  const RankStatus& culprit = ranks[static_cast<size_t>(rank)];
  Hang hang{.rank = rank, .what = {}, .seconds = culprit.quiet, .limit = limit_of(culprit.phase, ranks)};
  hang.what = text("rank ", rank, " hangs: ", difference_text(*difference, culprit),
                   "; no rank has shown a heartbeat for ", hang_seconds(hang.seconds), " (limit ",
                   hang_seconds(hang.limit), ")");
  return hang;
}

std::optional<Hang> HangWatch::deadlock(const std::vector<RankStatus>& ranks) const {
  Hang hang{.rank = -1, .what = {}, .seconds = std::numeric_limits<double>::infinity(), .limit = 0};
  int first_waiting = -1;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    if (!ranks[rank].is_waiting()) continue;
    if (first_waiting < 0) first_waiting = static_cast<int>(rank);
    hang.seconds = std::min(hang.seconds, ranks[rank].waiting_seconds());
  }
  if (first_waiting < 0) return std::nullopt;
  hang.limit = wait_limit(ranks);
  if (hang.seconds <= hang.limit) return std::nullopt;

  const std::string since = text(hang_seconds(hang.seconds), " (limit ", hang_seconds(hang.limit), ")");
  if (const auto difference = CollectiveOrder(ranks).first_difference()) {
    hang.rank = difference->differing[0];
    const RankStatus& culprit = ranks[static_cast<size_t>(hang.rank)];
    if (culprit.phase == Phase::finished) {
      // Nothing is wrong with it: whoever still wants to speak with it is out of step.
      hang.what = text("rank ", first_waiting, " hangs: it waits for rank ", hang.rank,
                       ", which has finished, in ", common_wait(ranks), "; nobody has gone on for ", since);
      hang.rank = first_waiting;
      return hang;
    }
    hang.what = text("rank ", hang.rank, " hangs: ", difference_text(*difference, culprit),
                     "; nobody has gone on for ", since);
    return hang;
  }
  const std::string where = common_wait(ranks);
  hang.what = text("all ranks hang: each waits for the others", where.empty() ? "" : " in ", where, ", for ",
                   since, "; what connects them has stopped");
  return hang;
}

}  // namespace larmor
