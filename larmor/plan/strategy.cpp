// How ranks work together, and whether the same run gives the same bits.
#include <algorithm>
#include <string>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/plan/decisions.h"
#include "larmor/plan/words.h"

namespace larmor {

void choose_strategy(const Question& question, Plan& plan) {
  const std::string& asked = question.config.parallel.strategy;
  const int ranks = plan.world_size();
  if (asked != "auto" && asked != "single" && asked != "ddp") {
    fail(Exit::usage, text("parallel.strategy is \"", asked, "\""), "say auto, single or ddp");
  }
  if (asked == "single" && ranks > 1) {
    fail(Exit::usage, text("parallel.strategy single runs 1 rank, but parallel.ranks asks for ", ranks),
         "parallel.strategy=ddp, or parallel.ranks=1");
  }
  plan.strategy = asked == "ddp" || ranks > 1 ? Strategy::ddp : Strategy::single;
  plan.reasons.push_back(
      text("Strategy ", to_text(plan.strategy),
           asked == "auto" ? ": " : ", as asked: ", counted(ranks, "rank"), ranks == 1 ? " has" : " have",
           ranks == 1 ? " no other to average gradients with." : " gradients to average."));
}

void choose_determinism(const Question& question, Plan& plan) {
  const auto& asked = question.config.run.deterministic;
  const bool on_cpu = plan.device == DeviceKind::cpu;
  plan.deterministic = asked.value_or(on_cpu);
  const char* why = asked    ? ", as asked."
                    : on_cpu ? ": on a CPU equal bits cost nothing."
                             : ": on CUDA equal bits cost speed, run.deterministic=true chooses them.";
  plan.reasons.push_back(text(plan.deterministic ? "Deterministic" : "Not deterministic", why));
}

void choose_bucket(const Question& question, Plan& plan) {
  constexpr int64_t mebibyte = int64_t{1} << 20, usual = 25 * mebibyte, page = 4096;
  const int64_t element = plan.precision == Precision::fp64 ? 8 : 4;
  const int64_t gradients = question.demand.parameters * element;
  plan.bucket_bytes = usual;
  // A model of one bucket would send nothing before backward has ended.
  if (gradients > 0) plan.bucket_bytes = std::min(usual, (gradients / 2 + page - 1) / page * page);
  if (plan.world_size() == 1) return;
  plan.reasons.push_back(text("Gradient buckets of ", human_bytes(plan.bucket_bytes),
                              plan.bucket_bytes == usual
                                  ? ": the usual size"
                                  : text(": half of the model's ", human_bytes(gradients),
                                         ", so that sending overlaps with backward"),
                              "."));
}

}  // namespace larmor
