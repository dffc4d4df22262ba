// What travels between ranks besides whole gradients of their own width.
#include <string>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/plan/decisions.h"
#include "larmor/plan/phrases.h"

namespace larmor {
namespace {

void check_compression(const Question& question, Plan& plan) {
  if (plan.compression == Compression::none) return;
  const std::string& asked = question.config.parallel.compression;
  if (is_sharded(plan.strategy)) {
    fail(Exit::usage,
         text("parallel.compression ", asked, " is for ddp, and parallel.strategy is ",
              to_text(plan.strategy)),
         "parallel.strategy=ddp; or parallel.compression=none, and train.precision=bf16 or fp16, whose "
         "gradients are half as wide");
  }
  if (plan.world_size() > 1) {
    plan.reasons.push_back(text("Gradients travel as ", asked, ", as asked: fewer bytes, and fewer digits."));
    return;
  }
  plan.compression = Compression::none;  // gradients that stay here keep their digits
  plan.reasons.push_back(
      text("parallel.compression ", asked, " changes nothing: 1 rank sends no gradients."));
}

void check_offload(const Question& question, Plan& plan) {
  if (!plan.offload_optimizer || question.config.parallel.offload == "auto") return;
  if (!is_sharded(plan.strategy)) {
    fail(Exit::usage,
         text("parallel.offload optimizer needs a strategy that cuts the optimizer's states into parts, and "
              "parallel.strategy is ",
              to_text(plan.strategy)),
         "parallel.strategy=zero1, zero2 or zero3, for one rank too; or parallel.offload=none");
  }
  plan.reasons.emplace_back(
      plan.device == DeviceKind::cpu
          ? "parallel.offload changes nothing: the device is a CPU, so the optimizer's states are on the "
            "host."
          : "The optimizer's states and the weights that it moves stay on the host, as asked: less memory on "
            "the GPU, more time.");
}

void choose_batch_norm(const Question& question, Plan& plan) {
  const auto& asked = question.config.parallel.sync_batchnorm;
  const bool has_partners = plan.world_size() > 1;
  plan.sync_batch_norm = question.demand.batch_norm && has_partners && asked.value_or(true);
  if (!question.demand.batch_norm && asked.value_or(false)) {
    plan.reasons.emplace_back("parallel.sync_batchnorm changes nothing: this model has no batch norm.");
  }
  if (!question.demand.batch_norm || !has_partners) return;
  plan.reasons.push_back(
      plan.sync_batch_norm ? text("Batch norm takes its statistics from the examples of all ",
                                  counted(plan.world_size(), "rank"), ", as one rank would.")
                           : text("Batch norm takes each rank's own statistics, as asked: the result depends "
                                  "on the number of ranks."));
}

}  // namespace

void read_exchange(const Question& question, Plan& plan) {
  const auto& asked = question.config.parallel;
  for (const Compression compression : {Compression::none, Compression::fp16, Compression::bf16}) {
    if (to_text(compression) == asked.compression) plan.compression = compression;
  }
  if (to_text(plan.compression) != asked.compression)
    fail(Exit::usage, text("parallel.compression is \"", asked.compression, "\""), "say none, fp16 or bf16");
  if (asked.offload != "auto" && asked.offload != "none" && asked.offload != "optimizer")
    fail(Exit::usage, text("parallel.offload is \"", asked.offload, "\""), "say auto, none or optimizer");
  plan.offload_optimizer = asked.offload == "optimizer";
}

void check_exchange(const Question& question, Plan& plan) {
  check_compression(question, plan);
  check_offload(question, plan);
  choose_batch_norm(question, plan);
}

}  // namespace larmor
