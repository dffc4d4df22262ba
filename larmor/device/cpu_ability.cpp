#include "larmor/device/cpu_ability.h"

#include <cstdlib>

#include <ATen/core/dispatch/Dispatcher.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor {
namespace {

bool ask(const char* operator_name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(operator_name, "").typed<bool()>().call();
}

}  // namespace

CpuInstructions cpu_instructions() {
  CpuInstructions cpu;
#if defined(__x86_64__)
  const bool has_fma = __builtin_cpu_supports("fma") != 0;
  cpu.has_sse41 = __builtin_cpu_supports("sse4.1") != 0;
  cpu.has_avx2 = has_fma && __builtin_cpu_supports("avx2") != 0;
  cpu.has_avx512 = has_fma && __builtin_cpu_supports("avx512f") != 0 &&
                   __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
                   __builtin_cpu_supports("avx512bw") != 0;
#endif
  return cpu;
}

bool one_dnn_computes(c10::ScalarType type) {
  switch (type) {
    case c10::kFloat:
      return true;
    case c10::kBFloat16: {
      static const bool computes = ask("mkldnn::_is_mkldnn_bf16_supported");
      return computes;
    }
    case c10::kHalf: {
      static const bool computes = ask("mkldnn::_is_mkldnn_fp16_supported");
      return computes;
    }
    default:
      return false;
  }
}

void require_able_cpu(const CpuInstructions& cpu, const std::string& capability) {
  if (!cpu.has_sse41) {
    fail(Exit::environment, "this CPU lacks SSE4.1, without which libtorch cannot convolve",
         "a CPU of 2008 or later has it, and one with AVX2 (2013 or later) is several times as fast");
  }
  const bool lacks = (capability == "avx2" && !cpu.has_avx2) || (capability == "avx512" && !cpu.has_avx512);
  if (!lacks) return;
  fail(Exit::environment,
       text("ATEN_CPU_CAPABILITY is ", capability,
            ", and this CPU lacks those instructions, or FMA beside them"),
       "unset ATEN_CPU_CAPABILITY: libtorch chooses by itself");
}

void require_able_cpu() {
  const char* const capability = std::getenv("ATEN_CPU_CAPABILITY");
  require_able_cpu(cpu_instructions(), capability == nullptr ? "" : capability);
}

}  // namespace larmor
