#include "larmor/device/device.h"

#include <sys/resource.h>

#include <cassert>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <iterator>

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <malloc.h>
#include <torch/version.h>

#include "larmor/base/error.h"
#include "larmor/base/process/process.h"
#include "larmor/base/text.h"
#include "larmor/device/cpu_ability.h"
#include "larmor/device/cuda/cuda.h"
#include "larmor/device/memory/block_pool.h"
#include "larmor/device/memory/poisoned_memory.h"
#include "larmor/device/trial_record.h"

namespace larmor {

namespace {

// glibc gives every large block back to the kernel when it is freed, and each step asks for the same blocks
// again, page by page: a tenth of a CPU training step. What a step has freed stays with the process: tensors
// in a pool of their own, since glibc's heap has gaps among small blocks, and workspaces of libraries in the
// heap.
void keep_freed_memory() {
  start_block_pool();
  start_poisonable_memory();
#ifdef __GLIBC__
  constexpr int largest_block_kept = 1 << 30;
  mallopt(M_MMAP_THRESHOLD, largest_block_kept);
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
#endif
}

[[maybe_unused]] bool is_only_thread() {
  const std::filesystem::directory_iterator threads("/proc/self/task");
  return std::distance(begin(threads), end(threads)) == 1;
}

}  // namespace

c10::ScalarType scalar_type(Precision precision) {
  switch (precision) {
    case Precision::fp32:
      return c10::kFloat;
    case Precision::bf16:
      return c10::kBFloat16;
    case Precision::fp16:
      return c10::kHalf;
    case Precision::fp64:
      return c10::kDouble;
  }
  fail(Exit::unexpected, "unknown precision");
}

void set_up_environment(const Plan& plan) {
  if (plan.environment.empty()) return;
  assert(is_only_thread());
  for (const auto& [name, value] : plan.environment) setenv(name.c_str(), value.c_str(), /*overwrite=*/0);
}

void set_up_process(const Plan& plan, c10::Device device) {
  // The plan has asked the CPUs that it knew; this may be another one.
  if (device.is_cpu() && plan.precision == Precision::bf16 && !one_dnn_computes(c10::kBFloat16)) {
    fail(Exit::usage, text("the plan says bf16, in which the CPU of ", host_name(), " does not compute"),
         "train.precision=fp32, or hosts with AVX-512 (BW, DQ and VL) or AVX-NE-CONVERT");
  }
  at::set_num_threads(plan.threads_per_rank);
  auto& context = at::globalContext();
  context.setDeterministicAlgorithms(plan.deterministic, /*warn_only=*/true);
  context.setDeterministicFillUninitializedMemory(false);
  if (device.is_cuda()) {
    context.setDeterministicCuDNN(plan.deterministic);
    context.setBenchmarkCuDNN(!plan.deterministic);
    const auto product =
        plan.precision == Precision::fp64 ? at::Float32Precision::IEEE : at::Float32Precision::TF32;
    // Each operation has a setting of its own, before that of all: libtorch sets TF32 for convolutions at the
    // start.
    for (const auto operation :
         {at::Float32Op::ALL, at::Float32Op::CONV, at::Float32Op::RNN, at::Float32Op::MATMUL})
      context.setFloat32Precision(at::Float32Backend::CUDA, operation, product);
    cuda::use_device(device.index());
  } else {
    keep_freed_memory();
    start_trial_record();
  }
}

bool cuda_is_usable() { return cuda::is_usable(); }

std::optional<GpuObstacle> cuda_obstacle() { return cuda::obstacle(); }

void synchronize(c10::Device device) {
  if (device.is_cuda()) cuda::synchronize(device.index());
}

int64_t peak_memory_bytes(c10::Device device) {
  if (device.is_cuda()) return cuda::peak_bytes(device.index());
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<int64_t>(usage.ru_maxrss) * 1024;
}

int64_t peak_reserved_bytes(c10::Device device) { return cuda::peak_reserved_bytes(device.index()); }

void reset_peak_memory(c10::Device device) {
  if (device.is_cuda()) cuda::reset_peak(device.index());
}

LibraryVersions library_versions() {
  auto versions = cuda::library_versions();
  versions.libtorch = TORCH_VERSION;
  return versions;
}

std::string program_build() { return text("libtorch ", TORCH_VERSION, ", compiler ", __VERSION__); }

std::string cpu_capability() { return at::get_cpu_capability(); }

std::string build_description() {
  return text(program_build(), ", CPU capability ", cpu_capability(),
              cuda::is_usable() ? ", CUDA" : ", no CUDA");
}

}  // namespace larmor
