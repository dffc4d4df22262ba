#include "larmor/launch/rank.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/launch/environment.h"
#include "larmor/launch/hosts/slurm_step.h"
#include "larmor/net/wire_number.h"

namespace larmor {
namespace {

/// The names under which one launcher says the same six things; empty where it does not say one so.
struct Source {
  std::string_view launcher;
  std::string_view rank, world_size, local_rank, local_world_size;
  std::string_view master_address = "MASTER_ADDR", master_port = "MASTER_PORT";

  std::array<std::string_view, 4> numbers() const { return {rank, world_size, local_rank, local_world_size}; }
  std::array<std::string_view, 6> names() const {
    return {rank, world_size, local_rank, local_world_size, master_address, master_port};
  }
};

constexpr Source ours{"larmor",
                      "LARMOR_RANK",
                      "LARMOR_WORLD_SIZE",
                      "LARMOR_LOCAL_RANK",
                      "LARMOR_LOCAL_WORLD_SIZE",
                      "LARMOR_MASTER_ADDR",
                      "LARMOR_MASTER_PORT"};
constexpr Source torchrun{"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"};
constexpr Source srun{"slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", ""};
// In their order of trust: who sets the names of a later row may do so besides those of an earlier one.
constexpr std::array<Source, 3> mpi_sources{
    {{"mpi", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
      "OMPI_COMM_WORLD_LOCAL_SIZE"},
     {"mpi", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK",
      "MV2_COMM_WORLD_LOCAL_SIZE"},
     {"pmi", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"}}};

/// Whether the source speaks at all. The master's address alone does not count: shells and job files
/// export it for other programs.
bool speaks(const Environment& environment, const Source& source) {
  const auto numbers = source.numbers();
  return std::any_of(numbers.begin(), numbers.end(),
                     [&](std::string_view name) { return find_variable(environment, name) != nullptr; });
}

/// Whether the source's launcher started several of us.
bool is_group(const Environment& environment, const Source& source) {
  const auto* size = find_variable(environment, source.world_size);
  return size && !size->empty() && read_number(environment, source.world_size, 1, most_ranks) > 1;
}

template <size_t count>
void refuse_missing(const Environment& environment, const Source& source,
                    const std::array<std::string_view, count>& names) {
  std::vector<std::string> present, missing;
  for (const std::string_view name : names) {
    // see local_count_of
    if (name == torchrun.local_world_size && !find_variable(environment, name)) continue;
    (find_variable(environment, name) ? present : missing).emplace_back(name);
  }
  if (missing.empty()) return;
  fail(Exit::usage,
       text("the environment says ", join(present, ", "), " as ", source.launcher, " does, but not ",
            join(missing, ", ")),
       text("start with `larmor train` or torchrun, which set all of them, or unset ", join(present, ", ")));
}

/// Both sources speak: what both say must be the same.
void refuse_disagreement(const Environment& environment, const Source& one, const Source& other) {
  const auto left = one.numbers(), right = other.numbers();
  for (size_t i = 0; i < left.size(); ++i) {
    const auto *said = find_variable(environment, left[i]), *also = find_variable(environment, right[i]);
    if (!said || !also || *said == *also) continue;
    fail(Exit::usage,
         text("the environment disagrees with itself: ", left[i], "=", *said, " but ", right[i], "=", *also),
         "unset the one that does not belong to this start");
  }
}

/// Job files that play torchrun often leave LOCAL_WORLD_SIZE out. A rank whose two numbers are the same may
/// take the host for the only one; another one knows of those before it.
int local_count_of(const Environment& environment, const Source& source, const Rank& rank) {
  if (find_variable(environment, source.local_world_size)) {
    return static_cast<int>(read_number(environment, source.local_world_size, 1, rank.count));
  }
  return rank.local_index == rank.index ? rank.count : rank.local_index + 1;
}

/// All but the master.
Rank read_numbers(const Environment& environment, const Source& source) {
  Rank rank;
  rank.launcher = source.launcher;
  rank.count = static_cast<int>(read_number(environment, source.world_size, 1, most_ranks));
  rank.index = static_cast<int>(read_number(environment, source.rank, 0, rank.count - 1));
  rank.local_index = static_cast<int>(read_number(environment, source.local_rank, 0, rank.count - 1));
  rank.local_count = local_count_of(environment, source, rank);
  read_number(environment, source.local_rank, 0, rank.local_count - 1);
  return rank;
}

std::string read_address(const Environment& environment, std::string_view name) {
  const auto& address = *find_variable(environment, name);
  if (address.empty()) {
    fail(Exit::usage, text("the environment says ", name, " but gives no address"),
         "let the launcher set it, or unset it");
  }
  return address;
}

Rank read_rank(const Environment& environment, const Source& source) {
  refuse_missing(environment, source, source.names());
  Rank rank = read_numbers(environment, source);
  rank.master_address = read_address(environment, source.master_address);
  rank.master_port = static_cast<int>(read_number(environment, source.master_port, 1, 65535));
  return rank;
}

Rank read_slurm_rank(const Environment& environment) {
  const auto step = read_slurm_step(environment);
  Rank rank;
  rank.launcher = srun.launcher;
  rank.count = static_cast<int>(step.count);
  rank.index = static_cast<int>(step.index);
  rank.local_index = static_cast<int>(step.local_index);
  rank.local_count = static_cast<int>(step.tasks_per_node[static_cast<size_t>(step.node)]);
  const auto master = find_master(environment, step);
  rank.master_address = master.host;
  rank.master_port = master.port;
  return rank;
}

/// What is the same in all ranks of one mpirun, and another in the next.
const std::string* mpi_job(const Environment& environment) {
  for (const auto* name : {"PMIX_NAMESPACE", "OMPI_MCA_orte_hnp_uri", "PMI_JOBID"}) {
    const auto* value = find_variable(environment, name);
    if (value && !value->empty()) return value;
  }
  return nullptr;
}

Rank read_mpi_rank(const Environment& environment, const Source& source) {
  refuse_missing(environment, source, source.numbers());
  Rank rank = read_numbers(environment, source);
  const bool several_hosts = rank.local_count < rank.count;
  HostAndPort made;
  const auto* job = mpi_job(environment);
  if (!several_hosts) made = {"127.0.0.1", job ? port_of_job(*job) : 0};
  const auto master = stated_master_or(environment, made, several_hosts);
  rank.master_address = master.host;
  rank.master_port = master.port;
  std::vector<std::string> missing;
  if (rank.master_address.empty()) missing.emplace_back("MASTER_ADDR");
  if (rank.master_port == 0) missing.emplace_back("MASTER_PORT");
  if (missing.empty()) return rank;
  fail(Exit::usage,
       text("the environment says ", source.world_size, "=", rank.count, " and ", source.local_world_size,
            "=", rank.local_count, ", but not where rank 0 is to be found"),
       text("set ", join(missing, " and "),
            " for all ranks: the host of rank 0, and a port that is free there (mpirun -x NAME=VALUE)"));
}

/// The launcher that started several of us and set no variables for libtorch. An mpirun in a SLURM job
/// starts its daemons with srun: then the step around the ranks is theirs, and its numbers say nothing.
const Source* find_group(const Environment& environment) {
  const auto mpi = std::find_if(mpi_sources.begin(), mpi_sources.end(),
                                [&](const Source& source) { return is_group(environment, source); });
  const bool in_step = slurm_task_count(environment).value_or(1) > 1;
  if (mpi == mpi_sources.end()) return in_step ? &srun : nullptr;
  if (!in_step || mpi->launcher != "pmi") return &*mpi;
  // srun --mpi=pmi2 sets both alike, and its own say more.
  const auto same = [&](std::string_view one, std::string_view other) {
    const auto *said = find_variable(environment, one), *also = find_variable(environment, other);
    return said && also && *said == *also;
  };
  return same(mpi->rank, srun.rank) && same(mpi->world_size, srun.world_size) ? &srun : &*mpi;
}

/// One GPU in sight of each of several ranks is a GPU of its own: the scheduler has bound it. So are several,
/// where SLURM says that each task has as many.
int find_visible_device(const Environment& environment, const Rank& rank) {
  const auto* visible = find_variable(environment, "CUDA_VISIBLE_DEVICES");
  if (!visible || visible->empty() || *visible == "-1" || *visible == "NoDevFiles") return -1;
  const auto count = 1 + std::count(visible->begin(), visible->end(), ',');
  if (rank.local_count <= count) return -1;
  const auto* each = find_variable(environment, "SLURM_GPUS_PER_TASK");
  return count == 1 || (each && *each == text(count)) ? 0 : -1;
}

std::optional<Rank> find_numbers_and_master(const Environment& environment) {
  const bool is_real_torchrun = find_variable(environment, "TORCHELASTIC_RUN_ID") != nullptr;
  if (speaks(environment, ours)) {
    Rank rank = read_rank(environment, ours);
    // Ranks of our launcher inherit what torchrun told the agent that started them.
    if (speaks(environment, torchrun) && !is_real_torchrun) refuse_disagreement(environment, ours, torchrun);
    rank.generation = read_number_or(environment, "LARMOR_GENERATION", 0);
    rank.store_descriptor = static_cast<int>(read_number_or(environment, "LARMOR_STORE_FD", -1));
    rank.store_key_descriptor = static_cast<int>(read_number_or(environment, "LARMOR_STORE_KEY_FD", -1));
    rank.console_out = static_cast<int>(read_number_or(environment, "LARMOR_CONSOLE_OUT", -1));
    rank.console_error = static_cast<int>(read_number_or(environment, "LARMOR_CONSOLE_ERR", -1));
    rank.channel_descriptor = static_cast<int>(read_number_or(environment, "LARMOR_CHANNEL_FD", -1));
    rank.job_descriptor = static_cast<int>(read_number_or(environment, "LARMOR_JOB_FD", -1));
    rank.agent_hosts_store = read_flag(environment, "TORCHELASTIC_USE_AGENT_STORE");
    rank.visible_device = static_cast<int>(read_number_or(environment, "LARMOR_VISIBLE_DEVICE", -1));
    return rank;
  }
  const bool torchrun_speaks = speaks(environment, torchrun);
  const auto* group = torchrun_speaks && is_real_torchrun ? nullptr : find_group(environment);
  if (torchrun_speaks) {
    Rank rank = read_rank(environment, torchrun);
    if (group) refuse_disagreement(environment, torchrun, *group);
    rank.generation = read_number_or(environment, "TORCHELASTIC_RESTART_COUNT", 0);
    rank.agent_hosts_store = read_flag(environment, "TORCHELASTIC_USE_AGENT_STORE");
    return rank;
  }
  if (!group) return std::nullopt;
  return group == &srun ? read_slurm_rank(environment) : read_mpi_rank(environment, *group);
}

}  // namespace

int device_index(const Rank& rank, const Plan& plan) {
  if (plan.device == DeviceKind::cpu) return -1;
  if (rank.visible_device >= 0) return rank.visible_device;
  return plan.ranks.at(static_cast<size_t>(rank.local_index)).device;
}

std::optional<Rank> find_rank(const Environment& environment) {
  auto rank = find_numbers_and_master(environment);
  if (rank && rank->visible_device < 0) rank->visible_device = find_visible_device(environment, *rank);
  return rank;
}

}  // namespace larmor
