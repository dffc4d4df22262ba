// The only place that knows CUDA, libtorch's versions and process-wide torch state.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include "larmor/hardware/gpu_obstacle.h"
#include "larmor/plan/plan.h"

namespace larmor {

c10::ScalarType scalar_type(Precision precision);

/// Puts what the plan asks of libraries into the environment, where nobody has set it otherwise. Requires: no
/// other thread, since any may be reading the environment; no use of a GPU or of NCCL before, which read it
/// once.
void set_up_environment(const Plan& plan);

/// Fixes this process's state once, before any work: threads, the current device, deterministic
/// algorithms, TF32.
void set_up_process(const Plan& plan, c10::Device device);

/// Whether this build and machine can use CUDA.
bool cuda_is_usable();
/// What keeps this program from all of this machine's GPUs; nothing where CUDA can be used.
std::optional<GpuObstacle> cuda_obstacle();
/// Blocks until the device's queue is empty; nothing on CPU.
void synchronize(c10::Device device);
/// The most memory used so far, in bytes: allocator peak on CUDA, peak resident size on CPU.
int64_t peak_memory_bytes(c10::Device device);
/// The most that the allocator of a GPU has taken from the driver: with what lies in its pieces unused.
int64_t peak_reserved_bytes(c10::Device device);
void reset_peak_memory(c10::Device device);

/// "2.11.0"; of CUDA, cuDNN and NCCL as they are loaded, "" where there is none.
struct LibraryVersions {
  std::string libtorch, cuda, cudnn, nccl;
};
LibraryVersions library_versions();
/// "libtorch 2.11.0, compiler 12.2.0": the same on every host that has the same program.
std::string program_build();
/// "AVX512": which of libtorch's kernels this host runs. Others round otherwise.
std::string cpu_capability();
/// Both, and whether CUDA can be used: goes into environment.json and the manifest's build.
std::string build_description();

}  // namespace larmor
