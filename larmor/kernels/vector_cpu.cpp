#include "larmor/kernels/vector_cpu.h"

#include <string>

#include <ATen/Version.h>

namespace larmor {

VectorCpu vector_cpu() {
  static const VectorCpu found = [] {
    const std::string name = at::get_cpu_capability();
    return name == "AVX512" ? VectorCpu::avx512 : name == "AVX2" ? VectorCpu::avx2 : VectorCpu::other;
  }();
  return found;
}

}  // namespace larmor
