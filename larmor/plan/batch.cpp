// micro-batch × accumulation × ranks = global batch, whichever of them were given.
#include <algorithm>
#include <optional>
#include <string>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/plan/decisions.h"
#include "larmor/plan/guide.h"
#include "larmor/plan/phrases.h"

namespace larmor {
namespace {

constexpr int64_t largest_size = 1000000;  // keeps every product of the three far from overflow

struct Given {
  std::optional<int64_t> global_batch, micro_batch, accumulation;
};

void check_range(const char* key, const std::optional<int64_t>& size) {
  if (!size || (*size >= 1 && *size <= largest_size)) return;
  fail(Exit::usage, text(key, " is ", *size), text("say auto, or 1 to ", largest_size));
}

Given read_given(const Question& question) {
  const TrainConfig& train = question.config.train;
  return {train.global_batch, train.micro_batch,
          question.demand.batch_norm ? std::optional<int64_t>(1) : train.accumulation};
}

int64_t largest_divisor(int64_t number, int64_t most) {
  for (int64_t divisor = std::min(number, most); divisor > 1; --divisor) {
    if (number % divisor == 0) return divisor;
  }
  return 1;
}

/// What bounds a micro-batch that nobody gave, in words too.
struct MicroBound {
  int64_t most;
  std::string why;  // "the workload's preferred 4"
};

GuideRow guide_batch(const Question& question, const Plan& plan) {
  const Guide& guide = question.demand.guide;
  if (plan.device == DeviceKind::cpu) return guide.on_cpu;
  return guide_row(guide, smallest(used_gpus(question, plan)).memory_bytes, plan.world_size());
}

/// Where a step has several micro-batches, they leave room for the sums of their gradients; cut ones may meet
/// at every micro-batch rather than stay whole.
MicroBound micro_bound(const Question& question, Plan plan, int64_t accumulation) {
  plan.accumulation = accumulation;
  plan.exchange_every_micro_batch = accumulation > 1;
  MicroBound bound{std::max<int64_t>(question.demand.preferred_micro_batch, 1), ""};
  bound.why = text("the workload's preferred ", bound.most);
  if (question.follows_guide()) {
    bound.most = guide_batch(question, plan).micro_batch;
    bound.why = text("the guide's ", bound.most,
                     plan.device == DeviceKind::cpu
                         ? " on a CPU"
                         : text(" for ", human_bytes(smallest(used_gpus(question, plan)).memory_bytes)));
  }
  const int64_t fitting = micro_batch_that_fits(question, plan);
  if (fitting < bound.most) {
    bound.why = text(fitting, ", which is what fits in memory instead of ", bound.why);
    bound.most = fitting;
  }
  return bound;
}

[[noreturn]] void refuse_product(const Given& given, int64_t ranks) {
  std::string left;
  int64_t product = ranks;
  if (given.micro_batch) {
    left += text("train.micro_batch ", *given.micro_batch, " × ");
    product *= *given.micro_batch;
  }
  if (given.accumulation) {
    left += text("train.accumulation ", *given.accumulation, " × ");
    product *= *given.accumulation;
  }
  const bool both = given.micro_batch && given.accumulation;
  fail(Exit::usage,
       text(left, counted(ranks, "rank"), " = ", product, ", but train.global_batch is ", *given.global_batch,
            both ? "" : ", which is no multiple of it"),
       text("leave ",
            both                ? "one of the three"
            : given.micro_batch ? "train.micro_batch"
                                : "train.accumulation",
            " at auto, or say train.global_batch=",
            std::max<int64_t>(*given.global_batch / product, 1) * product));
}

/// The global batch is given: the rest follows. Returns why.
std::string divide_global_batch(const Question& question, const Given& given, Plan& plan) {
  const int64_t ranks = plan.world_size();
  plan.global_batch = *given.global_batch;
  const int64_t of_rank = plan.global_batch / ranks;
  if (given.micro_batch || given.accumulation) {
    const int64_t factor = given.micro_batch.value_or(1) * given.accumulation.value_or(1);
    const bool both = given.micro_batch && given.accumulation;
    if (of_rank * ranks != plan.global_batch || (both ? factor != of_rank : of_rank % factor != 0)) {
      refuse_product(given, ranks);
    }
    plan.micro_batch = given.micro_batch.value_or(of_rank / factor);
    plan.accumulation = of_rank / plan.micro_batch;
    if (question.demand.batch_norm) return "batch norm needs accumulation 1";
    if (both) return "as given";
    return given.micro_batch ? "the micro-batch is given, the accumulation follows"
                             : "the accumulation is given, the micro-batch follows";
  }
  MicroBound bound = micro_bound(question, plan, 1);
  if (largest_divisor(of_rank, bound.most) < of_rank) bound = micro_bound(question, plan, of_rank);
  plan.micro_batch = largest_divisor(of_rank, bound.most);
  plan.accumulation = of_rank / plan.micro_batch;
  return text("the micro-batch is the largest divisor of the rank's ", of_rank, " up to ", bound.why);
}

/// Nobody said how large the global batch is. Returns why.
std::string multiply_up(const Question& question, const Given& given, Plan& plan) {
  const int64_t ranks = plan.world_size();
  const int64_t examples = question.demand.training_examples;
  const bool is_known = examples > 0;
  std::string why = "the micro-batch is given";
  if (given.micro_batch) {
    plan.micro_batch = *given.micro_batch;
  } else {
    const int64_t guides = question.follows_guide() ? guide_batch(question, plan).accumulation : 1;
    const MicroBound bound = micro_bound(question, plan, given.accumulation.value_or(guides));
    const int64_t share =
        is_known ? std::max<int64_t>(examples / (ranks * given.accumulation.value_or(1)), 1) : bound.most;
    plan.micro_batch = std::min(bound.most, share);
    why = text("the micro-batch is ", bound.why);
    if (plan.micro_batch < bound.most) {
      why = text("the micro-batch is cut to ", plan.micro_batch, " because there are only ", examples,
                 " training examples");
    }
  }
  plan.accumulation = given.accumulation.value_or(1);
  if (!given.accumulation && question.follows_guide()) {
    const int64_t wanted = guide_batch(question, plan).accumulation;
    const int64_t possible = is_known ? std::max<int64_t>(examples / (plan.micro_batch * ranks), 1) : wanted;
    plan.accumulation = std::min(wanted, possible);
    why +=
        text(", the accumulation ", plan.accumulation < wanted ? "what the examples allow" : "the guide's");
  }
  plan.global_batch = plan.micro_batch * plan.accumulation * ranks;
  return why;
}

}  // namespace

void check_batch_request(const Question& question) {
  const TrainConfig& train = question.config.train;
  check_range("train.global_batch", train.global_batch);
  check_range("train.micro_batch", train.micro_batch);
  check_range("train.accumulation", train.accumulation);
  if (!question.demand.batch_norm || train.accumulation.value_or(1) == 1) return;
  fail(Exit::usage,
       text("train.accumulation is ", *train.accumulation,
            ", but this model's batch norm takes its statistics from one micro-batch: accumulation would "
            "change the result"),
       "train.accumulation=1, and train.micro_batch for the size");
}

bool batch_allows(const Question& question, int64_t ranks) {
  if (question.config.parallel.strategy == "single" && ranks > 1) return false;
  const Given given = read_given(question);
  const int64_t factor = given.micro_batch.value_or(1) * given.accumulation.value_or(1);
  const int64_t examples = question.demand.training_examples;
  if (!given.global_batch) return examples == 0 || factor * ranks <= examples;
  if (*given.global_batch % ranks != 0) return false;
  const int64_t of_rank = *given.global_batch / ranks;
  return given.micro_batch && given.accumulation ? of_rank == factor : of_rank % factor == 0;
}

int64_t smallest_micro_batch(const Question& question, int64_t ranks) {
  const Given given = read_given(question);
  if (given.micro_batch) return *given.micro_batch;
  if (!given.global_batch || !given.accumulation) return 1;
  return std::max<int64_t>(*given.global_batch / ranks / *given.accumulation, 1);
}

void choose_batch(const Question& question, Plan& plan) {
  const Given given = read_given(question);
  const std::string why =
      given.global_batch ? divide_global_batch(question, given, plan) : multiply_up(question, given, plan);
  const std::string product = text(plan.global_batch, " = micro-batch ", plan.micro_batch, " × accumulation ",
                                   plan.accumulation, " × ", counted(plan.world_size(), "rank"));
  const int64_t examples = question.demand.training_examples, ranks = plan.world_size();
  if (examples > 0 && plan.global_batch > examples) {
    fail(Exit::usage,
         text(given.global_batch ? "train.global_batch " : "the global batch ", product, " is more than the ",
              counted(examples, "example"), " of the training split"),
         examples < ranks ? text("parallel.ranks=", examples, " at most, or more data")
         : given.global_batch
             ? text("train.global_batch=", examples / ranks * ranks, " at most, or more data")
             : "a smaller train.micro_batch or train.accumulation, or more data");
  }
  if (plan.global_batch < question.demand.fewest_in_step) {
    fail(Exit::usage,
         text("the global batch ", product, " is less than the ", question.demand.fewest_in_step,
              " examples that the loss compares: a step would learn nothing"),
         text("train.global_batch=", question.demand.fewest_in_step, " or more"));
  }
  plan.reasons.push_back(text("Global batch ", product, ": ", why, "."));
}

}  // namespace larmor
