// What the cores do: compute, load, and which rank owns which.
#include <algorithm>
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

constexpr int64_t most_loader_threads = 1024, most_prefetch = 1024;

void check_range(const char* key, const std::optional<int64_t>& count, int64_t least, int64_t most) {
  if (!count || (*count >= least && *count <= most)) return;
  fail(Exit::usage, text(key, " is ", *count), text("say auto, or ", least, " to ", most));
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

void bind_equal_parts(const Hardware& hardware, Plan& plan) {
  std::vector<int> cores;
  for (const size_t position : near_together(hardware)) cores.push_back(hardware.cores[position]);
  const auto local = static_cast<size_t>(plan.local_size());
  for (size_t rank = 0; rank < plan.ranks.size(); ++rank) {
    plan.ranks[rank].cores = part_of(cores, rank % local, local);
  }
}

/// Gives each rank its part of the cores near its GPU; false when the machine does not say which those are,
/// or when they are too few.
bool bind_near_gpus(const Question& question, Plan& plan) {
  const Hardware& hardware = question.hardware;
  const std::vector<Gpu> gpus = used_gpus(question, plan);
  std::map<int, std::vector<int>> cores_of_node;
  std::map<int, std::vector<size_t>> ranks_of_node;
  if (hardware.numa_of_core.empty()) return false;
  for (const size_t position : near_together(hardware)) {
    cores_of_node[hardware.numa_of_core[position]].push_back(hardware.cores[position]);
  }
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
  const int cores = question.hardware.usable_cores();
  const int ranks = plan.local_size();
  plan.threads_per_rank = std::max(1, cores / ranks);
  const bool on_gpus = plan.device == DeviceKind::cuda;
  if (!on_gpus || !question.follows_guide() || question.demand.guide.cores_a_thread == 0)
    plan.reasons.push_back(text(counted(plan.threads_per_rank, "compute thread"),
                                " a rank: ", counted(cores, "core"), " of ", question.hardware.machine_cores,
                                " / ", counted(ranks, "rank"), "."));
  if (on_gpus && question.follows_guide()) follow_guide_on_gpus(question.demand.guide, cores, plan);
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
  bind_equal_parts(hardware, plan);
  if (plan.local_size() == 1) return;
  plan.reasons.push_back(
      text("Each rank is bound to its part of ", counted(static_cast<int64_t>(hardware.cores.size()), "core"),
           plan.device == DeviceKind::cuda ? "; the machine does not say which are near which GPU." : "."));
}

}  // namespace larmor
