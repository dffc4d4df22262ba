// In which order the numbers of a volume lie in memory while networks compute.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/plan/decisions.h"
#include "larmor/plan/phrases.h"

namespace larmor {
namespace {

/// Nothing where the fast convolutions of the plan's devices read channels that lie side by side; otherwise
/// why they do not.
std::string why_not_channels_last(const Question& question, const Plan& plan) {
  if (plan.precision == Precision::fp64) return "convolutions in fp64 know no other order";
  if (plan.device == DeviceKind::cpu)
    return plan.precision == Precision::fp16 ? "CPUs convolve fp16 in no other order" : "";
  if (plan.precision == Precision::fp32)
    return "GPUs convolve channels-last volumes faster in bf16 and fp16 only";
  const std::vector<Gpu> gpus = used_gpus(question, plan);
  const auto is_older = [](const Gpu& gpu) { return gpu.capability_major < 8; };
  const auto older = std::find_if(gpus.begin(), gpus.end(), is_older);
  if (older == gpus.end()) return "";
  return text("GPU ", older->index, " has compute capability ", capability_text(*older),
              ", and channels-last volumes are faster from 8.0 on");
}

}  // namespace

void choose_layout(const Question& question, Plan& plan) {
  const std::string& asked = question.config.train.layout;
  const std::string why_not = why_not_channels_last(question, plan);
  plan.layout = asked == "contiguous" || !why_not.empty() ? Layout::contiguous : Layout::channels_last;
  if (asked == "channels_last" && !why_not.empty()) {
    plan.reasons.push_back(
        text("Layout contiguous instead of channels_last, which was asked for: ", why_not, "."));
  } else if (asked != "auto") {
    plan.reasons.push_back(text("Layout ", asked, ", as asked."));
  } else if (plan.layout == Layout::channels_last) {
    plan.reasons.push_back(
        "Layout channels_last: 3-D convolutions are faster where a voxel's channels lie side by side.");
  }
}

}  // namespace larmor
