#include "workloads/survival/risk/concordance.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <ATen/ATen.h>

namespace larmor::survival {
namespace {

constexpr double risk_tie = 1e-8;

/// How many of the patients added so far stand below a position: a Fenwick tree.
class RankCounter {
 public:
  explicit RankCounter(std::size_t positions) : tree_(positions + 1, 0) {}
  void add(std::size_t position) {
    for (std::size_t i = position + 1; i < tree_.size(); i += i & (~i + 1)) ++tree_[i];
  }
  int64_t below(std::size_t position) const {
    int64_t count = 0;
    for (std::size_t i = position; i > 0; i -= i & (~i + 1)) count += tree_[i];
    return count;
  }

 private:
  std::vector<int64_t> tree_;
};

/// The risks in ascending order, and where each patient's ties begin and end in it.
struct RankedRisks {
  explicit RankedRisks(std::span<const double> log_risk) : sorted(log_risk.begin(), log_risk.end()) {
    std::ranges::sort(sorted);
  }
  std::size_t position(double risk) const {
    return static_cast<std::size_t>(std::ranges::lower_bound(sorted, risk) - sorted.begin());
  }
  std::size_t first_tie(double risk) const {
    return static_cast<std::size_t>(
        std::ranges::partition_point(sorted,
                                     [&](double other) { return other < risk && risk - other > risk_tie; }) -
        sorted.begin());
  }
  std::size_t past_ties(double risk) const {
    return static_cast<std::size_t>(
        std::ranges::partition_point(sorted, [&](double other) { return other - risk <= risk_tie; }) -
        sorted.begin());
  }
  std::vector<double> sorted;
};

/// `weight` of a row is asked for once for each event.
template <class Weight>
Concordance concordance_of(std::span<const double> log_risk, const SurvivalOutcomes& outcomes,
                           Weight weight) {
  outcomes.check("the table");
  check_log_risk(log_risk, outcomes);
  const RankedRisks ranked(log_risk);
  RankCounter later(log_risk.size());
  const auto order = ascending_order(outcomes.time);
  Concordance result;
  double numerator = 0, denominator = 0;
  int64_t comparable = 0;  // patients in `later`
  for (std::size_t end = order.size(); end > 0;) {
    std::size_t begin = end;
    const double time = outcomes.time[order[end - 1]];
    const auto add_all = [&](uint8_t kind) {
      int64_t added = 0;
      for (std::size_t i = begin; i < end; ++i) {
        if (outcomes.event[order[i]] != kind) continue;
        later.add(ranked.position(log_risk[order[i]]));
        ++added;
      }
      comparable += added;
      return added;
    };
    while (begin > 0 && outcomes.time[order[begin - 1]] == time) --begin;
    const int64_t censored_now = add_all(0);
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t row = order[i];
      if (outcomes.event[row] == 0) continue;
      const int64_t lower = later.below(ranked.first_tie(log_risk[row]));
      const int64_t tied = later.below(ranked.past_ties(log_risk[row])) - lower;
      result.concordant += lower;
      result.tied_risk += tied;
      result.discordant += comparable - lower - tied;
      result.tied_time += censored_now;
      const double pair_weight = weight(row);
      numerator += pair_weight * (static_cast<double>(lower) + 0.5 * static_cast<double>(tied));
      denominator += pair_weight * static_cast<double>(comparable);
    }
    add_all(1);
    end = begin;
  }
  if (denominator > 0) result.index = numerator / denominator;
  return result;
}

}  // namespace

Concordance harrell_concordance(std::span<const double> log_risk, const SurvivalOutcomes& outcomes) {
  return concordance_of(log_risk, outcomes, [](std::size_t) { return 1.0; });
}

ConcordanceSums harrell_sums(const at::Tensor& log_risk, const at::Tensor& time, const at::Tensor& event) {
  const at::Tensor risk = log_risk.to(at::kDouble), happened = event > 0;
  const at::Tensor own = time.unsqueeze(1), other = time.unsqueeze(0);  // [i, j]: i has the event
  const at::Tensor later = (own < other).logical_or((own == other).logical_and(happened.logical_not()));
  const at::Tensor comparable = later.logical_and(happened.unsqueeze(1)).to(at::kDouble);
  const at::Tensor ahead = risk.unsqueeze(1) - risk.unsqueeze(0);
  const at::Tensor right = (ahead > risk_tie).to(at::kDouble),
                   tied = (ahead.abs() <= risk_tie).to(at::kDouble);
  const at::Tensor finite = at::isfinite(risk).all().to(at::kDouble);
  return {.concordant = (comparable * (right + 0.5 * tied)).sum() * finite,
          .comparable = comparable.sum() * finite};
}

Concordance uno_concordance(const StepCurve& censoring, std::span<const double> log_risk,
                            const SurvivalOutcomes& outcomes, std::optional<double> tau) {
  int64_t left_out = 0;
  Concordance result = concordance_of(log_risk, outcomes, [&](std::size_t row) {
    const double time = outcomes.time[row];
    if (tau && time >= *tau) return 0.0;
    const double uncensored = censoring.at(time);
    if (!censoring.reaches(time) || uncensored <= 0) {
      ++left_out;
      return 0.0;
    }
    return 1 / (uncensored * uncensored);
  });
  result.events_left_out = left_out;
  return result;
}

}  // namespace larmor::survival
