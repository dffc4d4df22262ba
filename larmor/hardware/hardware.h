// What the machine and the job offer, as plain values: a test writes one by hand.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "larmor/base/json.h"

namespace larmor {

/// Which processes may compute on a GPU, as `nvidia-smi -c` sets it.
enum class ComputeMode { shared, exclusive, prohibited };

struct Gpu {
  int index = 0;  // as CUDA counts them in this process: 0 is the first visible one
  std::string name;
  uint64_t memory_bytes = 0;
  uint64_t free_bytes = 0;
  int capability_major = 0, capability_minor = 0;  // compute capability 8.9 -> 8, 9
  int numa_node = -1;
  std::string uuid;
  bool is_sliced = false;  // into MIG instances, of which CUDA shows one
  ComputeMode compute_mode = ComputeMode::shared;
  int processes = 0;  // that compute on it
};

struct Hardware {
  std::string host;
  int hosts = 1;  // that share the run, each offering what follows
  std::string cpu_name;
  int machine_cores = 0;   // logical cores of the machine, whoever may use them
  std::vector<int> cores;  // logical cores this job may use: affinity and cgroup cpuset
  double cpu_quota = 0;    // cores' worth of time by cgroup v1/v2; 0 = no limit
  /// The part of the time of `cores` that nobody used when the machine was measured, in cores; nothing:
  /// nobody looked, as of a machine written by hand, and all are taken for free.
  std::optional<double> free_cores;
  /// The same in the moment before the plan, which changes nothing of it and is said; nothing: as above.
  std::optional<double> free_cores_now;
  std::string measured_on;        // when free_cores was measured: "2026-11-27"; "" = now, or never
  int physical_cores = 0;         // among `cores`
  std::vector<int> numa_of_core;  // parallel to `cores`; empty = unknown
  std::vector<int>
      physical_of_core;  // parallel to `cores`: equal for hyperthreads of one core; empty = unknown
  bool has_avx2 = false, has_avx512 = false, has_amx_bf16 = false;
  /// Whether libtorch convolves in bf16 on this CPU; nothing: nobody asked it, as of a machine written by
  /// hand.
  std::optional<bool> computes_bf16;
  double bf16_speedup = 0;  // of this CPU, beside fp32, as measured; 0 = not measured
  std::string cpu_kernels;  // that run here, as libtorch names them: DEFAULT, AVX2, AVX512; "" = nobody asked
  uint64_t memory_bytes = 0;        // of the machine
  uint64_t memory_limit_bytes = 0;  // what this job may use: cgroup, SLURM; never above memory_bytes
  uint64_t memory_available_bytes = 0;
  uint64_t shm_bytes = 0;                  // free in /dev/shm
  uint64_t disk_free_bytes = 0;            // where the run folder goes
  std::optional<int> slurm_cpus_per_task;  // inside a step the task's cores, in a batch script the node's
  std::vector<Gpu> gpus;                   // those this job may see (CUDA_VISIBLE_DEVICES applied)
  std::string no_gpus;  // why `gpus` is empty, as the end of a sentence; "" = nobody looked
  /// Whether segments of libtorch's allocator of GPU memory grow, by the environment (segments_grow_by).
  std::optional<bool> segments_grow;
  std::string driver_version;      // "" without a driver
  std::vector<std::string> notes;  // what limited what: "cgroup v2: 2.0 of 64 cores"

  /// Cores that may be kept busy: the affinity set, cut by the quota and the SLURM task's share; at least 1.
  int usable_cores() const;
  /// The free part of the memory that this job may use; 0 = unknown.
  uint64_t free_memory_bytes() const;
};

/// Where detect_hardware looks; tests point it elsewhere. What no file tells has a field of its own.
struct HardwareSources {
  std::filesystem::path root = "/";  // holds proc/, sys/, dev/shm
  std::filesystem::path run_folder = ".";
  std::string nvml_library = "libnvidia-ml.so.1";                 // LARMOR_NVML names another
  std::optional<std::map<std::string, std::string>> environment;  // nothing: this process's
  std::optional<std::vector<int>> affinity;  // nothing: what the kernel says of this process
  std::string topology;  // hwloc's synthetic form, "node:2 core:8 pu:2"; empty: this machine's
};

/// Absent things are empty, never errors. Creates no CUDA context.
Hardware detect_hardware(const HardwareSources& sources = {});

/// What every one of several hosts offers, for a plan that gives each an equal share: the least of them in
/// each respect. Entries with one name are views of the same host, as tasks that a scheduler has bound to a
/// part of it have them, and are joined first. Requires: at least one.
Hardware shared_hardware(const std::vector<Hardware>& hosts);

Json to_json(const Hardware& hardware);
/// Throws Error (usage) naming the key that is wrong. Every key may be absent; `cores` may be a count.
Hardware hardware_from_json(const Json& json);

}  // namespace larmor
