// How ranks work together, and whether the same run gives the same bits.
#include <algorithm>
#include <string>
#include <vector>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/plan/decisions.h"
#include "larmor/plan/words.h"

namespace larmor {

namespace {

constexpr Strategy strategies[] = {Strategy::single, Strategy::dp,    Strategy::ddp,
                                   Strategy::zero1,  Strategy::zero2, Strategy::zero3};

Strategy asked_strategy(const std::string& word) {
  for (const Strategy strategy : strategies) {
    if (to_text(strategy) == word) return strategy;
  }
  fail(Exit::usage, text("parallel.strategy is \"", word, "\""),
       "say auto, single, dp, ddp, zero1, zero2 or zero3");
}

/// The strategies that suit what else was asked for, in the order of what they cost. Never dp: it costs what
/// ddp costs, and one rank that fails takes the others with it before they can save.
std::vector<Strategy> candidates(const Plan& plan) {
  if (plan.world_size() == 1) return {plan.offload_optimizer ? Strategy::zero1 : Strategy::single};
  if (plan.compression != Compression::none) return {Strategy::ddp};
  if (plan.offload_optimizer) return {Strategy::zero1, Strategy::zero2, Strategy::zero3};
  return {Strategy::ddp, Strategy::zero1, Strategy::zero2, Strategy::zero3};
}

std::string why_the_only_one(const Plan& plan) {
  if (plan.world_size() > 1) return "parallel.compression is for whole gradients.";
  return plan.offload_optimizer ? "it is how one rank keeps the optimizer's states on the host."
                                : "1 rank has no other to share with.";
}

/// What a strategy needs with such a micro-batch, before the batch is decided. Several of them need sums of
/// gradients; cut ones may meet at every micro-batch rather than stay whole.
MemoryEstimate least_estimate(const Question& question, Plan plan, Strategy strategy, int64_t micro_batch) {
  plan.strategy = strategy;
  const TrainConfig& train = question.config.train;
  const int64_t follows = train.global_batch.value_or(micro_batch) / plan.world_size() / micro_batch;
  plan.accumulation =
      question.demand.batch_norm ? 1 : train.accumulation.value_or(std::max<int64_t>(follows, 1));
  plan.exchange_every_micro_batch = plan.accumulation > 1;
  return estimate(question, plan, micro_batch);
}

/// The first that fits; where none does, the last.
void take_cheapest_that_fits(const Question& question, Plan& plan) {
  const std::vector<Strategy> order = candidates(plan);
  const int64_t micro_batch = smallest_micro_batch(question, plan.world_size());
  std::vector<std::string> too_large;
  MemoryEstimate memory;
  for (const Strategy strategy : order) {
    plan.strategy = strategy;
    memory = least_estimate(question, plan, strategy, micro_batch);
    if (memory.available == 0 || memory.total() <= memory.available) break;
    const std::string of = too_large.empty() ? text(" of ", human_bytes(memory.available), " a rank") : "";
    too_large.push_back(text(to_text(strategy), " would need ", human_bytes(memory.total()), of));
  }
  const std::string name = text("Strategy ", to_text(plan.strategy), ": ");
  const bool fits = too_large.size() < order.size();
  if (order.size() == 1) {
    plan.reasons.push_back(name + why_the_only_one(plan));
  } else if (memory.available == 0) {
    plan.reasons.push_back(
        text(name, "what each of ", counted(plan.world_size(), "rank"), " may hold is unknown."));
  } else if (too_large.empty()) {
    plan.reasons.push_back(text(name, "each of ", counted(plan.world_size(), "rank"), " needs ",
                                human_bytes(memory.total()), " of ", human_bytes(memory.available),
                                " for a micro-batch of ", micro_batch, ", and none costs less time."));
  } else {
    plan.reasons.push_back(text(name, "for a micro-batch of ", micro_batch, " ", join(too_large, ", "), "; ",
                                fits ? text("this needs ", human_bytes(memory.total())) : "none fits", "."));
  }
}

void refuse_what_threads_cannot(const Question& question, const Plan& plan) {
  if (plan.hosts > 1) {
    fail(Exit::usage,
         text("parallel.strategy dp is one process with a thread for each rank, but the ranks are on ",
              plan.hosts, " hosts"),
         "parallel.strategy=ddp starts a process for each rank");
  }
  if (plan.device == DeviceKind::cpu && question.config.plan.probe.value_or(false)) {
    fail(Exit::usage,
         text("plan.probe measures a process, and under parallel.strategy dp one process holds all ",
              plan.world_size(), " ranks"),
         "plan.probe=false, or parallel.strategy=ddp");
  }
}

void take_as_asked(const Question& question, Plan& plan) {
  const std::string& asked = question.config.parallel.strategy;
  const int ranks = plan.world_size();
  plan.strategy = asked_strategy(asked);
  if (plan.strategy == Strategy::single && ranks > 1) {
    fail(Exit::usage, text("parallel.strategy single runs 1 rank, but parallel.ranks asks for ", ranks),
         "parallel.strategy=ddp, or parallel.ranks=1");
  }
  if (plan.in_one_process()) refuse_what_threads_cannot(question, plan);
  plan.reasons.push_back(text("Strategy ", asked, ", as asked, for ", counted(ranks, "rank"),
                              plan.in_one_process()
                                  ? ": threads of one process, which ends with the first of them that fails."
                                  : "."));
}

}  // namespace

void choose_strategy(const Question& question, Plan& plan) {
  read_exchange(question, plan);
  const int ranks = plan.world_size();
  const bool is_free = question.config.parallel.strategy == "auto";
  const bool compresses = plan.compression != Compression::none;
  if (is_free && question.follows_guide() && plan.device == DeviceKind::cuda && ranks > 1 && !compresses) {
    plan.strategy = Strategy::zero2;
    plan.reasons.push_back(text("Strategy zero2: the guide's choice for ", counted(ranks, "GPU"), "."));
  } else if (is_free) {
    take_cheapest_that_fits(question, plan);
  } else {
    take_as_asked(question, plan);
  }
  check_exchange(question, plan);
}

void choose_recomputation(const Question& question, Plan& plan) {
  const std::string& asked = question.config.train.activation_checkpointing;
  for (const Recompute recompute : {Recompute::none, Recompute::blocks, Recompute::all}) {
    if (to_text(recompute) != asked) continue;
    plan.recompute = recompute;
    if (recompute == Recompute::none) return;
    plan.reasons.push_back(
        text("Backward computes ",
             recompute == Recompute::blocks ? "each block" : "sections of blocks, and each block in them,",
             " again, as asked: less memory, more time."));
    return;
  }
  fail(Exit::usage, text("train.activation_checkpointing is \"", asked, "\""), "say none, blocks or all");
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

int64_t bucket_of(int64_t gradients) {
  constexpr int64_t page = 4096;
  if (gradients == 0) return usual_bucket_bytes;
  // A model of one bucket would send nothing before backward has ended.
  return std::min(usual_bucket_bytes, (gradients / 2 + page - 1) / page * page);
}

void choose_bucket(const Question& question, Plan& plan) {
  const int64_t gradients = gradient_bytes(question, plan);
  plan.bucket_bytes = bucket_of(gradients);
  if (plan.world_size() == 1) return;
  plan.reasons.push_back(text("Gradient buckets of ", human_bytes(plan.bucket_bytes),
                              plan.bucket_bytes == usual_bucket_bytes
                                  ? ": the usual size"
                                  : text(": half of the model's ", human_bytes(gradients),
                                         ", so that sending overlaps with backward"),
                              "."));
}

}  // namespace larmor
