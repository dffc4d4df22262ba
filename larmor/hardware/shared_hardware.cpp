// Several hosts, or several views of one, as one plan has to see them.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "larmor/base/text.h"
#include "larmor/hardware/hardware.h"

namespace larmor {
namespace {

void add_core(Hardware& whole, const Hardware& view, size_t i) {
  if (std::find(whole.cores.begin(), whole.cores.end(), view.cores[i]) != whole.cores.end()) return;
  whole.cores.push_back(view.cores[i]);
  // What one view does not know of its cores, the whole does not know either.
  if (i < view.numa_of_core.size() && whole.numa_of_core.size() + 1 == whole.cores.size())
    whole.numa_of_core.push_back(view.numa_of_core[i]);
  if (i < view.physical_of_core.size() && whole.physical_of_core.size() + 1 == whole.cores.size())
    whole.physical_of_core.push_back(view.physical_of_core[i]);
}

/// Of a view's free cores, the part that `added` new ones of its cores have.
/// `added`: the share of the view's cores that the host has not had yet.
void add_free_cores(std::optional<double>& of_host, const std::optional<double>& of_view, double added) {
  if (!of_host || !of_view) {
    of_host.reset();
  } else {
    *of_host += *of_view * added;
  }
}

void add_gpu(Hardware& whole, Gpu gpu) {
  const auto is_it = [&](const Gpu& other) {
    return gpu.uuid.empty() ? other.index == gpu.index : other.uuid == gpu.uuid;
  };
  if (std::any_of(whole.gpus.begin(), whole.gpus.end(), is_it)) return;
  gpu.index = static_cast<int>(whole.gpus.size());
  whole.gpus.push_back(std::move(gpu));
}

/// What one of them cannot, all cannot; what nobody asked of one is not known of all.
void join_answers(std::optional<bool>& of_all, const std::optional<bool>& other) {
  if (of_all == false || other == false) {
    of_all = false;
  } else if (!other) {
    of_all.reset();
  }
}

/// The narrower vectors of both; nothing where nobody asked one of them.
void join_kernels(std::string& of_all, const std::string& other) {
  const std::vector<std::string> narrowest_first{"", "DEFAULT", "AVX2", "AVX512"};
  const auto width = [&](const std::string& kernels) {
    return std::find(narrowest_first.begin(), narrowest_first.end(), kernels) - narrowest_first.begin();
  };
  if (width(other) < width(of_all)) of_all = other;
}

/// A host of which each task of a scheduler sees its own cores and cards.
Hardware join_views(const std::vector<Hardware>& views) {
  Hardware whole = views.front();
  std::optional<int> cpus_of_tasks = whole.slurm_cpus_per_task;
  int physical = whole.physical_cores;
  for (size_t i = 1; i < views.size(); ++i) {
    const Hardware& view = views[i];
    const size_t before = whole.cores.size();
    for (size_t core = 0; core < view.cores.size(); ++core) add_core(whole, view, core);
    if (whole.cores.size() > before) physical += view.physical_cores;
    const double added = static_cast<double>(whole.cores.size() - before) /
                         static_cast<double>(std::max<size_t>(1, view.cores.size()));
    add_free_cores(whole.free_cores, view.free_cores, added);
    add_free_cores(whole.free_cores_now, view.free_cores_now, added);
    for (const Gpu& gpu : view.gpus) add_gpu(whole, gpu);
    join_answers(whole.segments_grow, view.segments_grow);
    join_answers(whole.computes_bf16, view.computes_bf16);
    join_kernels(whole.cpu_kernels, view.cpu_kernels);
    if (cpus_of_tasks && view.slurm_cpus_per_task) *cpus_of_tasks += *view.slurm_cpus_per_task;
    whole.cpu_quota = std::max(whole.cpu_quota, view.cpu_quota);
    whole.memory_limit_bytes = std::min(whole.memory_limit_bytes, view.memory_limit_bytes);
    whole.memory_available_bytes = std::min(whole.memory_available_bytes, view.memory_available_bytes);
  }
  whole.physical_cores = std::min(physical, static_cast<int>(whole.cores.size()));
  if (whole.numa_of_core.size() != whole.cores.size()) whole.numa_of_core.clear();
  if (whole.physical_of_core.size() != whole.cores.size()) whole.physical_of_core.clear();
  whole.slurm_cpus_per_task = cpus_of_tasks;
  return whole;
}

void lessen(uint64_t& value, uint64_t other) { value = std::min(value, other); }

/// What both have, as far as a plan reads it.
void take_least(Hardware& least, const Hardware& other) {
  if (other.usable_cores() < least.usable_cores()) {
    least.cores = other.cores;
    least.cpu_quota = other.cpu_quota;
    least.slurm_cpus_per_task = other.slurm_cpus_per_task;
    least.physical_cores = other.physical_cores;
    least.numa_of_core = other.numa_of_core;
    least.physical_of_core = other.physical_of_core;
    least.machine_cores = other.machine_cores;
  }
  if (other.free_cores && *other.free_cores <= least.free_cores.value_or(*other.free_cores)) {
    least.free_cores = other.free_cores;
    least.free_cores_now = other.free_cores_now;
    least.measured_on = other.measured_on;
  }
  least.has_avx2 = least.has_avx2 && other.has_avx2;
  least.has_avx512 = least.has_avx512 && other.has_avx512;
  least.has_amx_bf16 = least.has_amx_bf16 && other.has_amx_bf16;
  join_answers(least.computes_bf16, other.computes_bf16);
  join_kernels(least.cpu_kernels, other.cpu_kernels);
  least.bf16_speedup = std::min(least.bf16_speedup, other.bf16_speedup);
  lessen(least.memory_bytes, other.memory_bytes);
  lessen(least.memory_limit_bytes, other.memory_limit_bytes);
  lessen(least.memory_available_bytes, other.memory_available_bytes);
  lessen(least.shm_bytes, other.shm_bytes);
  lessen(least.disk_free_bytes, other.disk_free_bytes);
  join_answers(least.segments_grow, other.segments_grow);
  if (other.gpus.size() < least.gpus.size()) {
    least.gpus.resize(other.gpus.size());
    least.no_gpus = other.no_gpus;
  }
  for (size_t i = 0; i < least.gpus.size(); ++i) {
    Gpu& gpu = least.gpus[i];
    if (other.gpus[i].memory_bytes < gpu.memory_bytes) gpu.name = other.gpus[i].name;
    lessen(gpu.memory_bytes, other.gpus[i].memory_bytes);
    lessen(gpu.free_bytes, other.gpus[i].free_bytes);
    gpu.is_sliced = gpu.is_sliced || other.gpus[i].is_sliced;
    gpu.compute_mode = std::max(gpu.compute_mode, other.gpus[i].compute_mode);
    gpu.processes = std::max(gpu.processes, other.gpus[i].processes);
    if (std::pair(other.gpus[i].capability_major, other.gpus[i].capability_minor) <
        std::pair(gpu.capability_major, gpu.capability_minor)) {
      gpu.capability_major = other.gpus[i].capability_major;
      gpu.capability_minor = other.gpus[i].capability_minor;
    }
  }
}

}  // namespace

Hardware shared_hardware(const std::vector<Hardware>& hosts) {
  std::vector<std::string> names;
  std::map<std::string, std::vector<Hardware>> views;
  for (const auto& host : hosts) {
    if (!views.contains(host.host)) names.push_back(host.host);
    views[host.host].push_back(host);
  }
  Hardware least = join_views(views.at(names.front()));
  for (size_t i = 1; i < names.size(); ++i) take_least(least, join_views(views.at(names[i])));
  least.host = join(names, " ");
  least.hosts = static_cast<int>(names.size());
  if (least.hosts > 1)
    least.notes.push_back(text("the least of ", least.hosts, " hosts: ", join(names, ", ")));
  return least;
}

}  // namespace larmor
