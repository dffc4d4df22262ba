#include "workloads/survival/risk/cox_loss.h"

#include <algorithm>
#include <limits>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/log1p.h>
#include <ATen/ops/logcumsumexp.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/tensor.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/device/send.h"

#include "workloads/survival/risk/survival_outcomes.h"

namespace larmor::survival {
namespace {

/// Who is compared with whom, from times and events alone. Positions count in `order`.
struct RiskSets {
  std::vector<int64_t> order;              // rows, the latest time first
  std::vector<int64_t> events;             // [E] positions of the events, those of one time together
  std::vector<int64_t> last;               // [E] position of the last patient at risk with each of them
  std::vector<int64_t> group;              // [E] which tie each belongs to
  std::vector<double> share;               // [E] of the tie's own risk that Efron takes off: 0/d, 1/d, …
  std::vector<std::vector<int64_t>> ties;  // positions of the events of each time
};

RiskSets risk_sets(const SurvivalOutcomes& outcomes) {
  RiskSets sets;
  const auto ascending = ascending_order(outcomes.time);
  for (auto row = ascending.rbegin(); row != ascending.rend(); ++row)
    sets.order.push_back(static_cast<int64_t>(*row));
  const auto time_at = [&](std::size_t i) { return outcomes.time[static_cast<std::size_t>(sets.order[i])]; };
  for (std::size_t begin = 0, end = 0; begin < sets.order.size(); begin = end) {
    std::vector<int64_t> tie;
    for (end = begin; end < sets.order.size() && time_at(end) == time_at(begin); ++end) {
      if (outcomes.event[static_cast<std::size_t>(sets.order[end])] != 0)
        tie.push_back(static_cast<int64_t>(end));
    }
    for (std::size_t i = 0; i < tie.size(); ++i) {
      sets.events.push_back(tie[i]);
      sets.last.push_back(static_cast<int64_t>(end) - 1);
      sets.group.push_back(static_cast<int64_t>(sets.ties.size()));
      sets.share.push_back(static_cast<double>(i) / static_cast<double>(tie.size()));
    }
    if (!tie.empty()) sets.ties.push_back(std::move(tie));
  }
  return sets;
}

/// log of the sum of exp over each tie: [ties].
at::Tensor log_risk_of_ties(const at::Tensor& sorted, const RiskSets& sets) {
  std::size_t width = 0;
  for (const auto& tie : sets.ties) width = std::max(width, tie.size());
  std::vector<int64_t> positions;
  std::vector<double> padding;  // 0 for a member, -inf for an empty place
  for (const auto& tie : sets.ties) {
    for (std::size_t i = 0; i < width; ++i) {
      positions.push_back(i < tie.size() ? tie[i] : tie.front());
      padding.push_back(i < tie.size() ? 0 : -std::numeric_limits<double>::infinity());
    }
  }
  const std::vector<int64_t> shape = {static_cast<int64_t>(sets.ties.size()), static_cast<int64_t>(width)};
  const at::Tensor members = sorted.index_select(0, send(at::tensor(positions), sorted.device())).view(shape);
  return at::logsumexp(
      members + send(at::tensor(padding, at::kDouble), sorted.device()).to(sorted.scalar_type()).view(shape),
      1);
}

}  // namespace

at::Tensor cox_loss(const at::Tensor& log_risk, const at::Tensor& time, const at::Tensor& event,
                    CoxTies ties) {
  if (log_risk.dim() != 1 || time.dim() != 1 || event.dim() != 1 || time.numel() != log_risk.numel() ||
      event.numel() != log_risk.numel())
    fail(Exit::data,
         text("Cox's loss wants one log-risk, one time and one event a patient, and got ", log_risk.numel(),
              ", ", time.numel(), " and ", event.numel()),
         "check the columns of the table");
  const auto outcomes = outcomes_in(time, event);
  outcomes.check("the batch");
  const RiskSets sets = risk_sets(outcomes);
  const at::Tensor risk = log_risk.scalar_type() == at::kDouble ? log_risk : log_risk.to(at::kFloat);
  if (sets.events.empty()) return (0 * risk).square().sum();  // which is 0, and never -0

  const auto indices = [&](const std::vector<int64_t>& values) {
    return send(at::tensor(values), risk.device());
  };
  const at::Tensor sorted = risk.index_select(0, indices(sets.order));
  at::Tensor at_risk = at::logcumsumexp(sorted, 0).index_select(0, indices(sets.last));
  if (ties == CoxTies::efron && sets.ties.size() < sets.events.size()) {
    const at::Tensor tied = log_risk_of_ties(sorted, sets).index_select(0, indices(sets.group));
    const at::Tensor share = send(at::tensor(sets.share, at::kDouble), risk.device()).to(risk.scalar_type());
    at_risk = at_risk + at::log1p(-share * at::exp(tied - at_risk));
  }
  return (at_risk - sorted.index_select(0, indices(sets.events))).mean();
}

}  // namespace larmor::survival
