#include "larmor/watch/slow_watch.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "larmor/base/text.h"

namespace larmor {
namespace {

constexpr double shortest_window = 20;  // seconds
constexpr int64_t fewest_steps = 10;
constexpr double slow_below = 0.75;   // of the median's speed
constexpr double least_share = 0.05;  // of a window that its slowness has to cost
constexpr int windows_in_a_row = 3;

constexpr Phase step_phases[] = {Phase::waiting_for_data, Phase::computing, Phase::communicating,
                                 Phase::saving};

/// The middle one; of an even number the smaller of the two in the middle, so that of two ranks the faster
/// one.
double lower_median(std::vector<double> values) {
  const auto middle = values.begin() + (std::ssize(values) - 1) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

int64_t steps_between(const std::vector<RankStatus>& before, const std::vector<RankStatus>& after) {
  int64_t fewest = fewest_steps;
  for (size_t rank = 0; rank < after.size(); ++rank)
    fewest = std::min(fewest, after[rank].step - before[rank].step);
  return fewest;
}

/// Seconds a step of each rank in one phase.
std::vector<double> step_seconds(const std::vector<RankStatus>& before, const std::vector<RankStatus>& after,
                                 Phase phase) {
  std::vector<double> seconds;
  for (size_t rank = 0; rank < after.size(); ++rank) {
    const auto steps = static_cast<double>(after[rank].step - before[rank].step);
    seconds.push_back(std::max(of(after[rank].seconds, phase) - of(before[rank].seconds, phase), 0.0) /
                      steps);
  }
  return seconds;
}

std::string_view slow_where(Phase phase) {
  switch (phase) {
    case Phase::waiting_for_data:
      return "while waiting for data";
    case Phase::communicating:
      return "around the exchange with the others";
    case Phase::saving:
      return "while saving";
    default:
      return "while computing";
  }
}

bool went_back(const std::vector<RankStatus>& before, const std::vector<RankStatus>& after) {
  for (size_t rank = 0; rank < after.size(); ++rank) {
    if (after[rank].step < before[rank].step) return true;
  }
  return before.size() != after.size();
}

}  // namespace

std::vector<SlowRank> SlowWatch::look(const std::vector<RankStatus>& ranks, double now) {
  if (ranks.empty()) return {};
  const bool is_new = !window_ || window_->ranks.size() != ranks.size() || went_back(window_->ranks, ranks);
  if (is_new) troubles_.assign(ranks.size(), {});
  const bool is_over = !is_new && now - window_->began >= shortest_window &&
                       steps_between(window_->ranks, ranks) >= fewest_steps;
  if (!is_new && !is_over) return {};
  auto slow = is_over ? judge(ranks, now - window_->began) : std::vector<SlowRank>();
  window_ = Window{.began = now, .ranks = ranks};
  return slow;
}

std::vector<SlowRank> SlowWatch::judge(const std::vector<RankStatus>& ranks, double seconds) {
  std::vector<double> own(ranks.size(), 0.0);
  std::vector<PerPhase> excess(ranks.size());
  for (const Phase phase : step_phases) {
    const auto needed = step_seconds(window_->ranks, ranks, phase);
    const double median = lower_median(needed);
    for (size_t rank = 0; rank < ranks.size(); ++rank) {
      own[rank] += needed[rank];
      of(excess[rank], phase) = needed[rank] - median;
    }
  }
  const double median = lower_median(own);
  std::vector<SlowRank> slow;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    Trouble& trouble = troubles_[rank];
    const auto steps = static_cast<double>(ranks[rank].step - window_->ranks[rank].step);
    const bool matters = (own[rank] - median) * steps >= least_share * seconds;
    if (!matters || median >= slow_below * own[rank]) {
      trouble = {};
      continue;
    }
    ++trouble.windows;
    trouble.own += own[rank];
    trouble.median += median;
    for (const Phase phase : step_phases) of(trouble.excess, phase) += of(excess[rank], phase);
    if (trouble.windows < windows_in_a_row || std::exchange(trouble.named, true)) continue;
    const auto most = std::max_element(trouble.excess.begin(), trouble.excess.end());
    SlowRank found{.rank = static_cast<int>(rank),
                   .speed = trouble.median / trouble.own,
                   .phase = static_cast<Phase>(most - trouble.excess.begin()),
                   .what = {}};
    found.what = text("rank ", rank, " is slow: ", fixed(found.speed, 2),
                      " of the median speed in the last three windows, mostly ", slow_where(found.phase));
    slow.push_back(std::move(found));
  }
  return slow;
}

}  // namespace larmor
