// What the CPU is said to do is what it does, on whatever CPU and with whatever limit of it these tests run.
#include "larmor/device/cpu_ability.h"

#include <ATen/ops/mkldnn_convolution.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/device/device.h"

namespace larmor {
namespace {

/// Whether oneDNN takes a convolution in `type`; libtorch throws where it does not.
bool convolves(c10::ScalarType type) {
  const at::Tensor volume = at::ones({1, 2, 3, 3, 3}, type), kernel = at::ones({2, 2, 3, 3, 3}, type);
  try {
    at::mkldnn_convolution(volume, kernel, {}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, /*groups=*/1);
  } catch (const c10::Error&) {
    return false;
  }
  return true;
}

TEST(OneDnn, ComputesInATypeWhereItTakesAConvolutionInIt) {
  for (const c10::ScalarType type : {c10::kFloat, c10::kBFloat16, c10::kHalf, c10::kDouble})
    EXPECT_EQ(one_dnn_computes(type), convolves(type)) << type;
}

std::string refusal(const CpuInstructions& cpu, const std::string& capability) {
  try {
    require_able_cpu(cpu, capability);
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::environment);
    return text(error.message(), " | ", error.hint());
  }
  return "accepted";
}

constexpr CpuInstructions before_avx{.has_sse41 = true, .has_avx2 = false, .has_avx512 = false};
constexpr CpuInstructions with_avx2{.has_sse41 = true, .has_avx2 = true, .has_avx512 = false};
constexpr CpuInstructions with_avx512{.has_sse41 = true, .has_avx2 = true, .has_avx512 = true};

TEST(Cpu, IsRefusedWhereNothingConvolvesOnIt) {
  EXPECT_EQ(refusal({.has_sse41 = false, .has_avx2 = false, .has_avx512 = false}, ""),
            "this CPU lacks SSE4.1, without which libtorch cannot convolve | a CPU of 2008 or later has it, "
            "and one with "
            "AVX2 (2013 or later) is several times as fast");
  for (const CpuInstructions& cpu : {before_avx, with_avx2, with_avx512})
    EXPECT_EQ(refusal(cpu, ""), "accepted");
}

TEST(Cpu, IsNotMadeToRunInstructionsThatItLacks) {
  EXPECT_EQ(
      refusal(with_avx2, "avx512"),
      "ATEN_CPU_CAPABILITY is avx512, and this CPU lacks those instructions, or FMA beside them | unset "
      "ATEN_CPU_CAPABILITY: libtorch chooses by itself");
  EXPECT_NE(refusal(before_avx, "avx2"), "accepted");
  EXPECT_NE(refusal(before_avx, "avx512"), "accepted");
  EXPECT_EQ(refusal(before_avx, "default"), "accepted");
  EXPECT_EQ(refusal(with_avx2, "avx2"), "accepted");
  EXPECT_EQ(refusal(with_avx512, "avx2"), "accepted");
  EXPECT_EQ(refusal(with_avx512, "avx512"), "accepted");
}

TEST(Cpu, HasWhatLibtorchRunsOnIt) {
  const CpuInstructions cpu = cpu_instructions();
  EXPECT_TRUE(cpu.has_sse41);
  EXPECT_TRUE(cpu.has_avx2 || !cpu.has_avx512);
  EXPECT_TRUE(cpu.has_avx2 || cpu_capability() != "AVX2");
  EXPECT_TRUE(cpu.has_avx512 || cpu_capability() != "AVX512");
}

TEST(AProcess, IsNotSetUpForBf16ThatItsCpuLacks) {
  Plan plan;
  plan.precision = Precision::bf16;
  if (one_dnn_computes(c10::kBFloat16)) {
    EXPECT_NO_THROW(set_up_process(plan, c10::kCPU));
  } else {
    EXPECT_THROW(set_up_process(plan, c10::kCPU), Error);
  }
}

}  // namespace
}  // namespace larmor
