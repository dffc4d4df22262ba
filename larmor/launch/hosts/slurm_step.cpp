#include "larmor/launch/hosts/slurm_step.h"

#include <array>
#include <numeric>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/launch/hosts/host_list.h"

namespace larmor {
namespace {

constexpr std::string_view count_name = "SLURM_STEP_NUM_TASKS";
constexpr std::array<std::string_view, 7> step_names{
    "SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID", "SLURM_STEP_NODELIST", "SLURM_STEP_TASKS_PER_NODE",
    "SLURM_JOB_ID", "SLURM_STEP_ID"};
constexpr int64_t most_tasks = 1 << 20;

void refuse_missing_step_names(const Environment& environment) {
  std::vector<std::string> missing;
  for (const auto name : step_names) {
    if (!find_variable(environment, name)) missing.emplace_back(name);
  }
  if (missing.empty()) return;
  fail(Exit::usage,
       text("the environment says ", count_name, "=", *find_variable(environment, count_name),
            " as srun does, but not ", join(missing, ", ")),
       text("start with srun, which sets all of them, or unset ", count_name));
}

[[noreturn]] void refuse_contradiction(const Environment& environment, std::string_view one,
                                       std::string_view other) {
  fail(Exit::usage,
       text("the environment disagrees with itself: ", one, "=", *find_variable(environment, one), " but ",
            other, "=", *find_variable(environment, other)),
       "let srun set both, or unset the one that does not belong to this start");
}

}  // namespace

std::optional<int64_t> slurm_task_count(const Environment& environment) {
  const auto* value = find_variable(environment, count_name);
  if (!value || value->empty()) return std::nullopt;
  return read_number(environment, count_name, 1, most_tasks);
}

SlurmStep read_slurm_step(const Environment& environment) {
  refuse_missing_step_names(environment);
  SlurmStep step;
  step.count = read_number(environment, count_name, 1, most_tasks);
  step.index = read_number(environment, "SLURM_PROCID", 0, step.count - 1);
  step.tasks_per_node = expand_counts(*find_variable(environment, "SLURM_STEP_TASKS_PER_NODE"));
  step.hosts = expand_host_list(*find_variable(environment, "SLURM_STEP_NODELIST"));
  const auto sum = std::accumulate(step.tasks_per_node.begin(), step.tasks_per_node.end(), int64_t{0});
  if (sum != step.count) refuse_contradiction(environment, count_name, "SLURM_STEP_TASKS_PER_NODE");
  if (step.hosts.size() != step.tasks_per_node.size())
    refuse_contradiction(environment, "SLURM_STEP_NODELIST", "SLURM_STEP_TASKS_PER_NODE");
  step.node = read_number(environment, "SLURM_NODEID", 0, static_cast<int64_t>(step.hosts.size()) - 1);
  const auto here = step.tasks_per_node[static_cast<size_t>(step.node)];
  step.local_index = read_number(environment, "SLURM_LOCALID", 0, here - 1);
  constexpr int64_t most = int64_t{1} << 40;
  step.job = text(read_number(environment, "SLURM_JOB_ID", 1, most), ".",
                  read_number(environment, "SLURM_STEP_ID", 0, most));
  return step;
}

HostAndPort find_master(const Environment& environment, const SlurmStep& step) {
  return stated_master_or(environment, {step.hosts.front(), port_of_job(step.job)}, step.hosts.size() > 1);
}

}  // namespace larmor
