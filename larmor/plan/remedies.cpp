// For a rank that cannot hold one example: what could be asked for instead, tried one change at a time.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "larmor/base/text.h"
#include "larmor/plan/decisions.h"
#include "larmor/plan/phrases.h"

namespace larmor {
namespace {

/// A plan with something changed, and how to ask for it.
struct Remedy {
  std::string words;
  Plan plan;
};

bool fits(const MemoryEstimate& memory) { return memory.total() <= memory.available; }

void set_ranks(Plan& plan, int64_t ranks) {
  plan.ranks.resize(static_cast<size_t>(ranks), plan.ranks.front());
}

std::vector<Remedy> by_recomputation(const Question& question, const Plan& plan) {
  const Demand& demand = question.demand;
  std::vector<Remedy> remedies;
  for (const auto& [recompute, bytes] : {std::pair(Recompute::blocks, demand.recomputed_bytes_per_sample),
                                         std::pair(Recompute::all, demand.sectioned_bytes_per_sample)}) {
    if (recompute <= plan.recompute || bytes == 0) continue;
    Remedy& remedy =
        remedies.emplace_back(Remedy{text("train.activation_checkpointing=", to_text(recompute)), plan});
    remedy.plan.recompute = recompute;
  }
  return remedies;
}

std::vector<Remedy> by_precision(const Question& question, const Plan& plan) {
  if (plan.precision == Precision::bf16 || plan.precision == Precision::fp16) return {};
  std::vector<Remedy> remedies;
  const Precision half = computes(question, plan, Precision::bf16) ? Precision::bf16 : Precision::fp16;
  for (const Precision precision : {Precision::fp32, half}) {
    if (precision == plan.precision || !computes(question, plan, precision)) continue;
    Remedy& remedy = remedies.emplace_back(Remedy{text("train.precision=", to_text(precision)), plan});
    remedy.plan.precision = precision;
  }
  return remedies;
}

std::vector<Remedy> by_strategy(const Plan& plan) {
  std::vector<Remedy> remedies;
  if (plan.world_size() == 1) return remedies;
  for (const Strategy strategy : {Strategy::zero1, Strategy::zero2, Strategy::zero3}) {
    if (strategy <= plan.strategy) continue;
    const char* uncompressed = plan.compression == Compression::none ? "" : " parallel.compression=none";
    Remedy& remedy =
        remedies.emplace_back(Remedy{text("parallel.strategy=", to_text(strategy), uncompressed), plan});
    remedy.plan.strategy = strategy;
    remedy.plan.compression = Compression::none;
  }
  return remedies;
}

std::vector<Remedy> by_offload(const Question& question, const Plan& plan) {
  if (plan.offload_optimizer || plan.device == DeviceKind::cpu) return {};
  Remedy remedy{"parallel.offload=optimizer", plan};
  remedy.plan.offload_optimizer = true;
  if (!is_sharded(plan.strategy)) {
    remedy.plan.strategy = Strategy::zero1;
    if (question.config.parallel.strategy != "auto") remedy.words += " parallel.strategy=zero1";
  }
  return {remedy};
}

std::vector<Remedy> by_ranks(const Question& question, const Plan& plan) {
  std::vector<Remedy> remedies;
  const int64_t ranks = plan.world_size();
  if (plan.device == DeviceKind::cpu) {  // they share the host's memory
    for (int64_t fewer = ranks - 1; fewer >= 1; --fewer) {
      if (!batch_allows(question, fewer)) continue;
      Remedy& remedy = remedies.emplace_back(Remedy{text("parallel.ranks=", fewer), plan});
      set_ranks(remedy.plan, fewer);
    }
    return remedies;
  }
  constexpr int64_t most = 64;
  const auto idle = static_cast<int64_t>(plan.idle_devices.size());
  for (int64_t more = ranks + 1; more <= most; ++more) {
    if (!batch_allows(question, more)) continue;
    const std::string how = more <= ranks + idle ? text("parallel.ranks=", more) : text(more, " such GPUs");
    Remedy& remedy = remedies.emplace_back(Remedy{how + " under parallel.strategy=zero3", plan});
    set_ranks(remedy.plan, more);
    remedy.plan.strategy = Strategy::zero3;
    remedy.plan.compression = Compression::none;
  }
  return remedies;
}

/// The first of them that fits, with what it needs; "" where none does.
std::string first_fitting(const Question& question, const std::vector<Remedy>& remedies,
                          int64_t micro_batch) {
  for (const Remedy& remedy : remedies) {
    const MemoryEstimate memory = estimate(question, remedy.plan, micro_batch);
    if (fits(memory)) return text(remedy.words, " (", human_bytes(memory.total()), ")");
  }
  return "";
}

/// The last of each kind, all at once.
Remedy everything(const Question& question, Plan plan) {
  std::vector<std::string> words;
  const auto take = [&](const std::vector<Remedy>& remedies) {
    if (remedies.empty()) return;
    words.push_back(remedies.back().words);
    plan = remedies.back().plan;
  };
  take(by_recomputation(question, plan));
  take(by_precision(question, plan));
  take(by_strategy(plan));
  take(by_offload(question, plan));
  return {join(words, " "), plan};
}

std::string smaller_examples(const Question& question, const Plan& plan) {
  const MemoryEstimate none = estimate(question, plan, 0), one = estimate(question, plan, 1);
  const int64_t of_example = one.of_step() - none.of_step(), left = one.available - none.of_step();
  const int64_t percent = of_example > 0 ? left * 100 / of_example : 0;
  constexpr int64_t least = 10;  // of less, nothing would be seen any more
  return percent < least ? "" : text("examples of at most ", percent, " % of the size");
}

}  // namespace

std::vector<std::string> changes_that_fit(const Question& question, const Plan& plan, int64_t micro_batch) {
  std::vector<std::string> words;
  for (const std::vector<Remedy>& remedies :
       {by_recomputation(question, plan), by_precision(question, plan), by_strategy(plan),
        by_offload(question, plan), by_ranks(question, plan)}) {
    std::string first = first_fitting(question, remedies, micro_batch);
    if (!first.empty()) words.push_back(std::move(first));
  }
  return words;
}

std::string what_would_fit(const Question& question, const Plan& plan) {
  std::vector<std::string> words = changes_that_fit(question, plan, 1);
  if (words.empty()) {
    const Remedy all = everything(question, plan);
    std::string together = all.words.empty() ? "" : first_fitting(question, {all}, 1);
    if (!together.empty()) words.push_back(std::move(together));
  }
  const std::string smaller = smaller_examples(question, plan);
  if (!smaller.empty()) words.push_back(smaller);
  if (words.empty()) return "a smaller model, or devices with more memory";
  return text(words.size() > 1 ? "any of these would fit: " : "this would fit: ", join(words, "; "));
}

}  // namespace larmor
