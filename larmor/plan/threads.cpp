// What the cores do: compute, load, and which rank owns which.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <tuple>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/plan/decisions.h"
#include "larmor/plan/guide.h"
#include "larmor/plan/phrases.h"

namespace larmor {
namespace {

constexpr int64_t most_loader_threads = 1024, most_prefetch = 1024, most_threads = 4096;

void check_range(const char* key, const std::optional<int64_t>& count, int64_t least, int64_t most) {
  if (!count || (*count >= least && *count <= most)) return;
  fail(Exit::usage, text(key, " is ", *count), text("say auto, or ", least, " to ", most));
}

/// Whether the load decides on how many threads the ranks compute.
bool follows_load(const Question& question, const Plan& plan) {
  return plan.device == DeviceKind::cpu && !question.config.run.deterministic.value_or(false);
}

/// Of the cores of this job, on how many threads are to compute. On a CPU no more than nobody else used when
/// the machine was measured: threads wait for one another at the end of every loop, and one that shares its
/// core holds up all. Half of them in any case: the kernel shares cores fairly. Whoever asks for the same
/// bits from every machine gets as many threads on one that was busy as on one that was quiet.
int cores_to_compute_on(const Question& question, const Plan& plan) {
  const Hardware& hardware = question.hardware;
  const int usable = hardware.usable_cores();
  if (!follows_load(question, plan) || !hardware.free_cores) return usable;
  return std::clamp(static_cast<int>(std::lround(*hardware.free_cores)), (usable + 1) / 2, usable);
}

/// Others use so much more or less of the cores now that it would be worth to measure the machine again.
constexpr double much = 0.25;

std::string others_use(double free, size_t cores) {
  return fixed(std::max(0.0, static_cast<double>(cores) - free), 1);
}

/// What a person should know where the load that threads were chosen by is not that of now; the end of a
/// reason.
std::string load_message(const Hardware& hardware) {
  if (hardware.measured_on.empty() || !hardware.free_cores || !hardware.free_cores_now) return "";
  const size_t cores = hardware.cores.size();
  const double change = *hardware.free_cores_now - *hardware.free_cores;
  if (std::abs(change) < std::max(1.0, much * static_cast<double>(cores))) return "";
  return text(" Others use ", others_use(*hardware.free_cores_now, cores), " of ", counted(cores, "core"),
              " now, and used ", others_use(*hardware.free_cores, cores),
              " when this machine was measured on ", hardware.measured_on,
              ": `larmor doctor --measure` measures it again.");
}

std::string why_so_many_threads(const Question& question, const Plan& plan, int computing) {
  const Hardware& hardware = question.hardware;
  const int usable = hardware.usable_cores(), ranks = plan.local_size();
  const int all = std::max(1, usable / ranks);
  const std::string more = follows_load(question, plan) ? load_message(hardware) : "";
  if (plan.threads_per_rank == all)
    return text(": ", counted(usable, "core"), " of ", hardware.machine_cores, " / ", counted(ranks, "rank"),
                ".", more);
  const std::string when = hardware.measured_on.empty()
                               ? " just now"
                               : text(" when this machine was measured on ", hardware.measured_on);
  return text(": of ", counted(usable, "core"), " others used ",
              others_use(*hardware.free_cores, hardware.cores.size()), when, ", so ",
              counted(computing, "core"), computing == 1 ? " is" : " are", " counted on",
              ranks == 1 ? "" : text(" by ", counted(ranks, "rank")), "; parallel.threads=", all,
              " takes all.", more);
}

void choose_loader(const Question& question, Plan& plan) {
  const int cores = question.hardware.usable_cores();
  const int ranks = plan.local_size();
  const bool on_cpu = plan.device == DeviceKind::cpu;
  if (const auto& given = question.config.data.workers) {
    plan.loader_threads = static_cast<int>(*given);
    plan.reasons.push_back(text(counted(*given, "loader thread"), " a rank, as asked."));
  } else if (question.follows_guide()) {
    const int of_rank = std::max(1, (cores - 2) / ranks);
    const Guide& guide = question.demand.guide;
    const int most = on_cpu ? guide.loader_threads_on_cpu : guide.loader_threads_on_gpu;
    plan.loader_threads = std::min(of_rank, most);
    plan.reasons.push_back(text(counted(plan.loader_threads, "loader thread"), " a rank: the guide's ", most,
                                " at most, with 2 of ", counted(cores, "core"), " left free."));
  } else if (on_cpu) {
    plan.loader_threads = 1;
    plan.reasons.push_back("1 loader thread a rank: on a CPU the cores are busy computing.");
  } else {
    constexpr int enough = 8;
    plan.loader_threads = std::clamp(cores / ranks - 1, 1, enough);
    plan.reasons.push_back(text(counted(plan.loader_threads, "loader thread"),
                                " a rank: ", counted(cores, "core"), " / ", counted(ranks, "rank"),
                                ", less 1 that feeds the GPU, at most ", enough, "."));
  }
}

void choose_prefetch(const Question& question, Plan& plan) {
  std::string why = ": one to use next, one in the making";
  plan.prefetch = 2;
  if (const auto& given = question.config.data.prefetch) {
    plan.prefetch = static_cast<int>(*given);
    why = ", as asked";
  } else if (question.follows_guide()) {
    const uint64_t free_memory = question.hardware.memory_available_bytes;
    plan.prefetch = guide_prefetch(free_memory);
    why = text(": the guide's for ", human_bytes(free_memory), " of free memory");
  }
  plan.reasons.push_back(
      text(plan.prefetch, plan.prefetch == 1 ? " micro-batch ahead" : " micro-batches ahead", why, "."));
}

/// Positions in `cores`, ordered so that neighbours share a memory node, then a physical core.
std::vector<size_t> near_together(const Hardware& hardware) {
  std::vector<size_t> order(hardware.cores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto place = [&hardware](size_t i) {
    const int numa = i < hardware.numa_of_core.size() ? hardware.numa_of_core[i] : 0;
    const int physical =
        i < hardware.physical_of_core.size() ? hardware.physical_of_core[i] : hardware.cores[i];
    return std::tuple(numa, physical, hardware.cores[i]);
  };
  std::sort(order.begin(), order.end(), [&place](size_t a, size_t b) { return place(a) < place(b); });
  return order;
}

/// Part `index` of `parts` parts whose sizes differ by one at most.
std::vector<int> part_of(const std::vector<int>& cores, size_t index, size_t parts) {
  const auto at = [&](size_t i) {
    return cores.begin() + static_cast<std::ptrdiff_t>(cores.size() * i / parts);
  };
  std::vector<int> part(at(index), at(index + 1));
  std::sort(part.begin(), part.end());
  return part;
}

/// By memory node, neighbours on one physical core side by side. One node where the machine names none.
using CoresOfNodes = std::map<int, std::vector<int>>;

CoresOfNodes cores_of_nodes(const Hardware& hardware) {
  CoresOfNodes nodes;
  for (const size_t position : near_together(hardware)) {
    const int node = position < hardware.numa_of_core.size() ? hardware.numa_of_core[position] : 0;
    nodes[node].push_back(hardware.cores[position]);
  }
  return nodes;
}

/// How many ranks each node takes, so that each rank has `threads` cores of one node at least and no node has
/// cores to spare while ranks of another have fewer. Empty where the nodes have no room for all.
std::map<int, size_t> ranks_of_nodes(const CoresOfNodes& nodes, size_t ranks, size_t threads) {
  std::map<int, size_t> taken;
  const auto cores_each = [&](const auto& node) {
    const double each = static_cast<double>(node.second.size()) / static_cast<double>(taken[node.first] + 1);
    return each < static_cast<double>(threads) ? 0 : each;
  };
  for (size_t rank = 0; rank < ranks; ++rank) {
    const auto roomiest = std::max_element(nodes.begin(), nodes.end(), [&](const auto& a, const auto& b) {
      return cores_each(a) < cores_each(b);
    });
    if (cores_each(*roomiest) == 0) return {};
    taken[roomiest->first] += 1;
  }
  return taken;
}

/// What the ranks of one host are bound to: parts of single memory nodes where each rank finds as many cores
/// there as it has threads, otherwise equal parts of all cores.
std::vector<std::vector<int>> parts_of(const CoresOfNodes& nodes, size_t ranks, size_t threads) {
  std::vector<std::vector<int>> parts;
  for (const auto& [node, count] : ranks_of_nodes(nodes, ranks, threads)) {
    for (size_t i = 0; i < count; ++i) parts.push_back(part_of(nodes.at(node), i, count));
  }
  if (!parts.empty()) return parts;
  std::vector<int> all;
  for (const auto& [node, cores] : nodes) all.insert(all.end(), cores.begin(), cores.end());
  for (size_t rank = 0; rank < ranks; ++rank) parts.push_back(part_of(all, rank, ranks));
  return parts;
}

/// Of a rank's cores, on how many memory nodes they lie.
size_t nodes_under(const std::vector<int>& part, const CoresOfNodes& nodes) {
  return static_cast<size_t>(std::count_if(nodes.begin(), nodes.end(), [&part](const auto& node) {
    return std::any_of(node.second.begin(), node.second.end(),
                       [&part](int core) { return std::binary_search(part.begin(), part.end(), core); });
  }));
}

/// What ranks on the CPU have of several memory nodes; nothing where there is one.
void explain_nodes(const CoresOfNodes& nodes, Plan& plan) {
  if (nodes.size() < 2) return;
  const auto count = static_cast<int64_t>(nodes.size());
  std::vector<std::string> across;
  for (size_t rank = 0; rank < static_cast<size_t>(plan.local_size()); ++rank) {
    if (nodes_under(plan.ranks[rank].cores, nodes) > 1) across.push_back(text(rank));
  }
  if (plan.local_size() == 1) {
    plan.reasons.push_back(text("The rank computes across ", counted(count, "memory node"),
                                "; parallel.ranks=", count * plan.hosts,
                                " would give each node a rank of its own."));
  } else if (across.empty()) {
    plan.reasons.push_back(text("No rank's cores lie on two of the ", counted(count, "memory node"),
                                ", so what a rank touches first is memory of its own node."));
  } else {
    plan.reasons.push_back(text(across.size() == 1 ? "Rank " : "Ranks ", join(across, ", "),
                                across.size() == 1 ? " computes" : " compute",
                                " across memory nodes: ", counted(count, "node"), " have no room for ",
                                counted(plan.local_size(), "rank"), " of ",
                                counted(plan.threads_per_rank, "thread"), "."));
  }
}

CoresOfNodes bind_equal_parts(const Hardware& hardware, Plan& plan) {
  CoresOfNodes nodes = cores_of_nodes(hardware);
  const auto local = static_cast<size_t>(plan.local_size());
  const auto parts = parts_of(nodes, local, static_cast<size_t>(plan.threads_per_rank));
  for (size_t rank = 0; rank < plan.ranks.size(); ++rank) plan.ranks[rank].cores = parts[rank % local];
  return nodes;
}

/// Gives each rank its part of the cores near its GPU; false when the machine does not say which those are,
/// or when they are too few.
bool bind_near_gpus(const Question& question, Plan& plan) {
  const Hardware& hardware = question.hardware;
  const std::vector<Gpu> gpus = used_gpus(question, plan);
  std::map<int, std::vector<size_t>> ranks_of_node;
  if (hardware.numa_of_core.empty()) return false;
  CoresOfNodes cores_of_node = cores_of_nodes(hardware);
  const auto local = static_cast<size_t>(plan.local_size());
  for (size_t rank = 0; rank < local; ++rank) ranks_of_node[gpus[rank].numa_node].push_back(rank);
  for (const auto& [node, ranks] : ranks_of_node) {
    if (node < 0 || cores_of_node[node].size() < ranks.size()) return false;
  }
  for (const auto& [node, ranks] : ranks_of_node) {
    for (size_t i = 0; i < ranks.size(); ++i) {
      plan.ranks[ranks[i]].cores = part_of(cores_of_node[node], i, ranks.size());
    }
  }
  for (size_t rank = local; rank < plan.ranks.size(); ++rank)
    plan.ranks[rank].cores = plan.ranks[rank % local].cores;
  return true;
}

}  // namespace

void choose_threads(const Question& question, Plan& plan) {
  const DataConfig& data = question.config.data;
  check_range("data.workers", data.workers, 0, most_loader_threads);
  check_range("data.prefetch", data.prefetch, 1, most_prefetch);
  check_range("parallel.threads", question.config.parallel.threads, 1, most_threads);
  const int cores = question.hardware.usable_cores(), computing = cores_to_compute_on(question, plan);
  plan.threads_per_rank = std::max(1, computing / plan.local_size());
  const bool on_gpus = plan.device == DeviceKind::cuda;
  const auto& given = question.config.parallel.threads;
  if (!given && (!on_gpus || !question.follows_guide() || question.demand.guide.cores_a_thread == 0))
    plan.reasons.push_back(text(counted(plan.threads_per_rank, "compute thread"), " a rank",
                                why_so_many_threads(question, plan, computing)));
  if (on_gpus && question.follows_guide()) follow_guide_on_gpus(question.demand.guide, cores, plan);
  if (given) {
    plan.threads_per_rank = static_cast<int>(*given);
    plan.reasons.push_back(text(counted(*given, "compute thread"), " a rank, as asked."));
  }
  choose_loader(question, plan);
  choose_prefetch(question, plan);
}

void bind_cores(const Question& question, Plan& plan) {
  const Hardware& hardware = question.hardware;
  if (hardware.cores.size() < static_cast<size_t>(plan.local_size())) {
    plan.reasons.push_back(
        text("No rank is bound to cores: ", counted(static_cast<int64_t>(hardware.cores.size()), "core"),
             " for ", counted(plan.local_size(), "rank"), "."));
    return;
  }
  if (plan.device == DeviceKind::cuda && bind_near_gpus(question, plan)) {
    plan.reasons.push_back("Each rank is bound to cores on the memory node of its GPU.");
    return;
  }
  const CoresOfNodes nodes = bind_equal_parts(hardware, plan);
  if (plan.device == DeviceKind::cpu) explain_nodes(nodes, plan);
  if (plan.local_size() == 1) return;
  plan.reasons.push_back(
      text("Each rank is bound to its part of ", counted(static_cast<int64_t>(hardware.cores.size()), "core"),
           plan.device == DeviceKind::cuda ? "; the machine does not say which are near which GPU." : "."));
}

}  // namespace larmor
