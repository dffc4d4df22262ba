// What this CPU can do for libtorch and for our loops over wide vectors. It is asked before it is used, and
// asked of who would use it: variables (ONEDNN_MAX_CPU_ISA, ATEN_CPU_CAPABILITY) take away what the CPU has,
// and so does a system that does not keep its registers.
#pragma once

#include <string>

#include <c10/core/ScalarType.h>

namespace larmor {

/// Instructions that the CPU has and the system lets programs use.
struct CpuInstructions {
  bool has_sse41 = true;    // of an x86 CPU; others convolve without
  bool has_avx2 = false;    // and FMA
  bool has_avx512 = false;  // F, VL, DQ and BW, and FMA
};
CpuInstructions cpu_instructions();

/// Whether oneDNN convolves and multiplies in `type` here. What is given to it in another type throws.
bool one_dnn_computes(c10::ScalarType type);

/// Throws Error (environment) where `cpu` lacks what no convolution of libtorch can do without, or
/// `capability`, the value of ATEN_CPU_CAPABILITY, has libtorch run instructions that it lacks.
void require_able_cpu(const CpuInstructions& cpu, const std::string& capability);
/// Called at a program's start: without it the first instruction that is not there ends it by SIGILL.
void require_able_cpu();

}  // namespace larmor
