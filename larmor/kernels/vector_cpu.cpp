#include "larmor/kernels/vector_cpu.h"

#include <string>

#include <ATen/Version.h>

#include "larmor/device/cpu_ability.h"

namespace larmor {

VectorCpu vector_cpu() {
  static const VectorCpu found = [] {
    const std::string name = at::get_cpu_capability();
    const CpuInstructions cpu = cpu_instructions();
    return name == "AVX512" && cpu.has_avx512 ? VectorCpu::avx512
           : name == "AVX2" && cpu.has_avx2   ? VectorCpu::avx2
                                              : VectorCpu::other;
  }();
  return found;
}

}  // namespace larmor
