// How ranks work together, and whether the same run gives the same bits.
#include <algorithm>
#include <string>
#include <vector>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/plan/cheapest_fit.h"
#include "larmor/plan/decisions.h"
#include "larmor/plan/phrases.h"

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

std::string computed_again(Recompute recompute) {
  return recompute == Recompute::none     ? ""
         : recompute == Recompute::blocks ? " with blocks computed again"
                                          : " with sections of blocks computed again";
}

/// Why this strategy, where nobody asked for one.
std::string reason_of(const Plan& plan, const CheapestFit& fit, bool is_the_only_one) {
  const std::string name = text("Strategy ", to_text(plan.strategy), ": ");
  const std::string ranks = counted(plan.world_size(), "rank");
  if (is_the_only_one) return name + why_the_only_one(plan);
  if (fit.memory.available == 0) return text(name, "what each of ", ranks, " may hold is unknown.");
  if (fit.too_large.empty())
    return text(name, "each of ", ranks, " needs ", human_bytes(fit.memory.total()), " of ",
                human_bytes(fit.memory.available), " for a micro-batch of ", fit.micro_batch,
                ", and none costs less time.");
  return text(name, "for a micro-batch of ", fit.micro_batch, " ", join(fit.too_large, ", "), "; ",
              fit.fits
                  ? text("this needs ", human_bytes(fit.memory.total()), computed_again(fit.way.recompute))
              : fit.activations_are_too_large ? "none fits, and activations, which no strategy cuts, are why"
                                              : "none fits",
              ".");
}

/// "the cheapest way for a rank to hold a micro-batch of 12 (9 GiB of 15.1 GiB, and 15.7 GiB without)".
std::string why_changed(const CheapestFit& fit) {
  return text(fit.fits ? "the cheapest way for a rank to hold a micro-batch of "
                       : "it is not enough, and helps, for a micro-batch of ",
              fit.micro_batch, " (", human_bytes(fit.memory.total()), " of ",
              human_bytes(fit.memory.available), ", and ", human_bytes(fit.cheapest.total()), " without)");
}

/// What nobody asked for, and is done for want of memory.
void explain_changes(const Question& question, const Plan& before, const CheapestFit& fit, Plan& plan) {
  const bool is_guides = question.follows_guide() && question.demand.guide.recomputes;
  if (plan.recompute == Recompute::blocks && plan.recompute != before.recompute && is_guides) {
    plan.reasons.emplace_back(
        "Backward computes each block again, as the guide always does; train.activation_checkpointing=none "
        "keeps all.");
  } else if (plan.recompute != before.recompute) {
    plan.reasons.push_back(text(
        "Backward computes ",
        plan.recompute == Recompute::blocks ? "each block" : "sections of blocks, and each block in them,",
        " again: ", why_changed(fit), "; train.activation_checkpointing=none keeps all."));
  }
  if (plan.offload_optimizer != before.offload_optimizer) {
    plan.reasons.push_back(text("The optimizer's states and the weights that it moves stay on the host: ",
                                why_changed(fit), "; parallel.offload=none keeps them on the GPU."));
  }
}

void take(const Question& question, const std::vector<Strategy>& order, bool explains_strategy, Plan& plan) {
  const Plan before = plan;
  const CheapestFit fit = find_cheapest_fit(question, plan, order);
  plan.strategy = fit.way.strategy;
  plan.recompute = fit.way.recompute;
  plan.offload_optimizer = fit.way.offload_optimizer;
  if (explains_strategy) plan.reasons.push_back(reason_of(plan, fit, order.size() == 1));
  explain_changes(question, before, fit, plan);
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
  const auto& guides = question.demand.guide.strategy;
  const bool on_gpus = plan.device == DeviceKind::cuda && ranks > 1;
  if (is_free && question.follows_guide() && guides && on_gpus && !compresses) {
    plan.strategy = *guides;
    plan.reasons.push_back(
        text("Strategy ", to_text(*guides), ": the guide's choice for ", counted(ranks, "GPU"), "."));
    take(question, {plan.strategy}, /*explains_strategy=*/false, plan);
  } else if (is_free) {
    take(question, candidates(plan), /*explains_strategy=*/true, plan);
  } else {
    take_as_asked(question, plan);
    take(question, {plan.strategy}, /*explains_strategy=*/false, plan);
  }
  check_exchange(question, plan);
}

void choose_recomputation(const Question& question, Plan& plan) {
  const std::string& asked = question.config.train.activation_checkpointing;
  if (asked == "auto") return;  // with the strategy: choose_strategy
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
  fail(Exit::usage, text("train.activation_checkpointing is \"", asked, "\""),
       "say auto, none, blocks or all");
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
