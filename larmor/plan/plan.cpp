#include "larmor/plan/plan.h"

#include <algorithm>
#include <string>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/plan/decisions.h"
#include "larmor/plan/phrases.h"

namespace larmor {

std::string to_text(Precision precision) {
  switch (precision) {
    case Precision::fp32:
      return "fp32";
    case Precision::bf16:
      return "bf16";
    case Precision::fp16:
      return "fp16";
    case Precision::fp64:
      return "fp64";
  }
  return "";
}

std::string to_text(Strategy strategy) {
  switch (strategy) {
    case Strategy::single:
      return "single";
    case Strategy::dp:
      return "dp";
    case Strategy::ddp:
      return "ddp";
    case Strategy::zero1:
      return "zero1";
    case Strategy::zero2:
      return "zero2";
    case Strategy::zero3:
      return "zero3";
  }
  return "";
}

std::string to_text(Layout layout) {
  return layout == Layout::channels_last ? "channels_last" : "contiguous";
}

std::string to_text(Recompute recompute) {
  switch (recompute) {
    case Recompute::none:
      return "none";
    case Recompute::blocks:
      return "blocks";
    case Recompute::all:
      return "all";
  }
  return "";
}

std::string to_text(Compression compression) {
  switch (compression) {
    case Compression::none:
      return "none";
    case Compression::fp16:
      return "fp16";
    case Compression::bf16:
      return "bf16";
  }
  return "";
}

bool is_sharded(Strategy strategy) {
  return strategy == Strategy::zero1 || strategy == Strategy::zero2 || strategy == Strategy::zero3;
}

std::string to_text(DeviceKind kind) { return kind == DeviceKind::cpu ? "cpu" : "cuda"; }

Plan make_plan(const Hardware& hardware, const Demand& demand, const RunConfig& config) {
  const std::string& profile = config.plan.profile;
  if (profile != "auto" && profile != "guide") {
    fail(Exit::usage, text("plan.profile is ", profile), "say auto or guide");
  }
  Hardware usable = hardware;
  auto barred = take_barred(usable);
  const Question question{usable, demand, config, std::move(barred)};
  Plan plan;
  check_batch_request(question);
  if (profile == "guide" && !question.follows_guide()) {
    plan.reasons.emplace_back(
        "plan.profile=guide changes nothing: the guide of this stage has no table of batches by GPU memory; "
        "its "
        "numbers are in the shipped configs.");
  }
  choose_device(question, plan);
  choose_ranks(question, plan);
  choose_precision(question, plan);
  choose_layout(question, plan);
  choose_threads(question, plan);
  choose_recomputation(question, plan);
  choose_strategy(question, plan);
  choose_graphs(question, plan);
  choose_batch(question, plan);
  plan.whole_micro_batch = demand.batch_norm;
  choose_gradient_keeping(question, plan);
  choose_determinism(question, plan);
  choose_bucket(question, plan);
  bind_cores(question, plan);
  check_graphs(question, plan);
  check_memory(question, plan);
  return plan;
}

std::optional<Plan> with_smaller_micro_batch(const Plan& plan) {
  if (plan.micro_batch == 1 || plan.whole_micro_batch) return std::nullopt;
  Plan smaller = plan;
  const int64_t of_rank = plan.micro_batch * plan.accumulation;
  smaller.micro_batch = plan.micro_batch / 2;
  while (of_rank % smaller.micro_batch != 0) smaller.micro_batch -= 1;
  smaller.accumulation = of_rank / smaller.micro_batch;
  for (int64_t* const bytes : {&smaller.memory.activations, &smaller.memory.batch})
    *bytes = *bytes / plan.micro_batch * smaller.micro_batch;
  return smaller;
}

void note_measured(Plan& plan, int64_t predicted, int64_t taken) {
  plan.memory.predicted = predicted;
  plan.memory.measured = taken;
  const std::string room = plan.memory.available > 0 ? text(" of ", human_bytes(plan.memory.available)) : "";
  plan.reasons.push_back(
      text("One step with micro-batch ", plan.micro_batch,
           predicted > 0 ? text(": predicted ", human_bytes(predicted), ", took ") : " took ",
           human_bytes(taken), room, " on the rank that needs most; ",
           plan.memory.activations > 0 ? text(human_bytes(plan.memory.total()), " were foreseen.")
                                       : "what its activations take was not known before."));
}

std::vector<int64_t> allowed_world_sizes(int64_t global_batch, int64_t most) {
  std::vector<int64_t> sizes;
  for (int64_t size = std::min(global_batch, most); size >= 1; --size) {
    if (global_batch % size == 0) sizes.push_back(size);
  }
  return sizes;
}

}  // namespace larmor
