// In which numbers the network computes.
#include <algorithm>
#include <string>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/plan/decisions.h"
#include "larmor/plan/phrases.h"

namespace larmor {
namespace {

using Capability = std::pair<int, int>;
constexpr Capability computes_bf16{8, 0}, computes_fp16{7, 0};

/// The used GPU that can do least: all ranks compute alike.
Gpu least_able(const Question& question, const Plan& plan) {
  const std::vector<Gpu> gpus = used_gpus(question, plan);
  return *std::min_element(gpus.begin(), gpus.end(), [](const Gpu& a, const Gpu& b) {
    return Capability(a.capability_major, a.capability_minor) <
           Capability(b.capability_major, b.capability_minor);
  });
}

Precision parse_precision(const std::string& word) {
  for (const Precision precision : {Precision::fp32, Precision::bf16, Precision::fp16, Precision::fp64}) {
    if (to_text(precision) == word) return precision;
  }
  fail(Exit::usage, text("train.precision is \"", word, "\""), "say auto, fp32, bf16, fp16 or fp64");
}

/// What a hint ends with: no value of the key helps a run that has been started.
constexpr const char* goes_on_elsewhere = "; a run that was begun in bf16 goes on where that is computed";

/// Below it the narrower numbers are not worth what they lose.
constexpr double least_bf16_speedup = 1.3;

void choose_on_cpu_without_bf16(const Question& question, Plan& plan) {
  const std::string why =
      text(question.hardware.hosts == 1 ? "this CPU" : "the CPU of a host",
           " does not compute in bf16, which takes AVX-512 (BW, DQ and VL) or AVX-NE-CONVERT");
  const std::string& asked = question.config.train.precision;
  if (asked == "bf16") {
    fail(Exit::usage, text("train.precision is bf16, but ", why),
         text("train.precision=fp32, or leave it at auto", goes_on_elsewhere));
  }
  plan.precision = Precision::fp32;
  plan.reasons.push_back(text("Precision fp32: ", why, "."));
}

void choose_on_cpu(const Question& question, Plan& plan) {
  const double speedup = question.hardware.bf16_speedup;
  const bool is_measured = speedup > 0;
  const std::string times = text(fixed(speedup, 1), " times as fast as in fp32 (measured)");
  const std::string& asked = question.config.train.precision;
  if (question.hardware.computes_bf16 == false && (asked == "auto" || asked == "bf16"))
    return choose_on_cpu_without_bf16(question, plan);
  if (asked == "auto") {
    const bool is_fast = speedup >= least_bf16_speedup;
    plan.precision = is_fast ? Precision::bf16 : Precision::fp32;
    plan.reasons.push_back(
        is_fast
            ? text("Precision bf16: this CPU computes in bf16 ", times, "; train.precision=fp32 is a choice.")
        : is_measured ? text("Precision fp32: in bf16 this CPU computes ", times, ", and it takes ",
                             least_bf16_speedup, ".")
                      : "Precision fp32: the device is a CPU whose bf16 has not been measured.");
    return;
  }
  plan.precision = parse_precision(asked);
  const bool is_slow =
      plan.precision == Precision::fp16 || (plan.precision == Precision::bf16 && is_measured && speedup < 1);
  plan.reasons.push_back(
      text("Precision ", asked, ", as asked", is_slow ? "; this CPU computes it slowly." : "."));
}

void choose_on_gpus(const Question& question, Plan& plan) {
  const Gpu gpu = least_able(question, plan);
  const Capability capability(gpu.capability_major, gpu.capability_minor);
  const std::string who = text("GPU ", gpu.index, " has compute capability ", capability_text(gpu));
  const std::string& asked = question.config.train.precision;
  if (asked == "auto") {
    plan.precision = capability >= computes_bf16   ? Precision::bf16
                     : capability >= computes_fp16 ? Precision::fp16
                                                   : Precision::fp32;
    plan.reasons.push_back(text("Precision ", to_text(plan.precision), ": ", who,
                                "; bf16 needs 8.0, fp16 needs 7.0",
                                plan.ranks.size() > 1 ? " on every card." : "."));
    return;
  }
  plan.precision = parse_precision(asked);
  if (plan.precision == Precision::bf16 && capability < computes_bf16) {
    fail(Exit::usage, text("train.precision is bf16, but ", who, " and bf16 needs 8.0"),
         text(capability >= computes_fp16 ? "train.precision=fp16, or leave it at auto"
                                          : "train.precision=fp32",
              goes_on_elsewhere));
  }
  plan.reasons.push_back(text("Precision ", asked, ", as asked."));
}

}  // namespace

bool computes(const Question& question, const Plan& plan, Precision precision) {
  if (plan.device == DeviceKind::cpu)
    return precision != Precision::bf16 || question.hardware.computes_bf16 != false;
  const Gpu gpu = least_able(question, plan);
  const Capability capability(gpu.capability_major, gpu.capability_minor);
  return precision == Precision::bf16   ? capability >= computes_bf16
         : precision == Precision::fp16 ? capability >= computes_fp16
                                        : true;
}

void choose_precision(const Question& question, Plan& plan) {
  plan.device == DeviceKind::cpu ? choose_on_cpu(question, plan) : choose_on_gpus(question, plan);
}

}  // namespace larmor
