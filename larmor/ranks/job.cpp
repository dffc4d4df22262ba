#include "larmor/ranks/job.h"

#include "larmor/base/process/memory_file.h"
#include "larmor/device/device.h"

namespace larmor::ranks {

std::string to_text(const Job& job) {
  Json json;
  json["plan"] = to_json(job.plan);
  json["request"] = job.request;
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<Job> inherited_job() {
  auto rank = find_rank(process_environment());
  if (!rank || rank->job_descriptor < 0) return std::nullopt;
  constexpr const char* variable = "LARMOR_JOB_FD";
  const auto json = parse_json(read_memory_file(rank->job_descriptor, variable), variable);
  Job job{.plan = plan_from_json(json.at("plan")), .request = json.at("request"), .rank = std::move(rank)};
  if (job.plan.in_one_process()) job.means = Job::Means::threads;
  set_up_environment(job.plan);
  return job;
}

}  // namespace larmor::ranks
