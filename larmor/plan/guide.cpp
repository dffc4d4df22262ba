#include "larmor/plan/guide.h"

#include <algorithm>

#include "larmor/base/ensure.h"
#include "larmor/base/text.h"
#include "larmor/plan/phrases.h"

namespace larmor {

GuideRow guide_row(const Guide& guide, uint64_t memory_bytes, int64_t ranks) {
  ensure(!guide.rows.empty());
  const auto fits = [memory_bytes](const GuideRow& row) { return memory_bytes >= row.least_memory_bytes; };
  const auto found = std::find_if(guide.rows.begin(), guide.rows.end(), fits);
  GuideRow row = found == guide.rows.end() ? guide.rows.back() : *found;
  constexpr int64_t most = 32;
  if (guide.examples_a_step > 0)
    row.accumulation = std::clamp<int64_t>(guide.examples_a_step / (row.micro_batch * ranks), 1, most);
  return row;
}

void follow_guide_on_gpus(const Guide& guide, int cores, Plan& plan) {
  const int ranks = plan.local_size();
  if (guide.cores_a_thread > 0) {
    plan.threads_per_rank = std::max(1, cores / (guide.cores_a_thread * ranks));
    plan.reasons.push_back(text(counted(plan.threads_per_rank, "compute thread"),
                                " a rank: the guide's one for ", guide.cores_a_thread, " of ",
                                counted(cores, "core"), " / ", counted(ranks, "rank"), "."));
  }
  plan.environment = guide.environment;
  if (plan.world_size() > 1)
    plan.environment.insert(guide.environment_of_several.begin(), guide.environment_of_several.end());
  if (plan.environment.empty()) return;
  std::vector<std::string> settings;
  for (const auto& [name, value] : plan.environment) settings.push_back(text(name, "=", value));
  plan.reasons.push_back(text("The ranks' environment is the guide's: ", join(settings, ", "), "."));
}

int guide_prefetch(uint64_t memory_available_bytes) {
  const uint64_t gibibytes = memory_available_bytes >> 30;
  return gibibytes > 64 ? 4 : gibibytes > 32 ? 3 : 2;
}

}  // namespace larmor
