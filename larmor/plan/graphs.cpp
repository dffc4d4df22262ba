// Whether GPUs launch micro-batches as graphs.
#include <string>

#include "larmor/base/text.h"
#include "larmor/plan/decisions.h"
#include "larmor/plan/phrases.h"

namespace larmor {
namespace {

/// Nothing where a pass of the plan can be a graph; otherwise why it cannot.
std::string why_no_graphs(const Plan& plan) {
  if (plan.device == DeviceKind::cpu) return "only GPUs launch graphs";
  if (plan.strategy == Strategy::zero3) return "zero3 gathers weights while a pass runs";
  if (plan.in_one_process()) return "under dp all ranks launch from one process";
  if (plan.sync_batch_norm) return "batch norm over all ranks lets them meet while a pass runs";
  return "";
}

}  // namespace

void choose_graphs(const Question& question, Plan& plan) {
  if (question.config.train.graphs != "auto") return;
  const std::string why_not = why_no_graphs(plan);
  plan.graphs = why_not.empty();
  plan.reasons.push_back(
      plan.graphs ? text("Graphs: a GPU launches forward and backward of a micro-batch as a whole, where the "
                         "stage's pass is fixed",
                         plan.world_size() > 1 ? "; gradients meet after backward, not during it." : ".")
                  : text("No graphs, which were asked for: ", why_not, "."));
}

void check_graphs(const Question& question, Plan& plan) {
  if (!plan.graphs) return;
  const MemoryEstimate with = estimate(question, plan, plan.micro_batch);
  if (with.available == 0 || with.total() <= with.available) return;
  plan.graphs = false;
  plan.reasons.push_back(text("No graphs after all: with them a rank would need ", human_bytes(with.total()),
                              " of ", human_bytes(with.available), "."));
}

}  // namespace larmor
