#include "larmor/run/machine.h"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"
#include "larmor/device/cpu_ability.h"
#include "larmor/device/device.h"

namespace larmor {
namespace {

TEST(Machine, IsTheHardwareWithWhatLibtorchMakesOfItsCpu) {
  const Hardware machine = detect_machine();
  EXPECT_EQ(machine.cores, detect_hardware().cores);
  EXPECT_EQ(machine.computes_bf16, one_dnn_computes(c10::kBFloat16));
  EXPECT_EQ(machine.cpu_kernels, cpu_capability());
  EXPECT_EQ(machine.bf16_speedup, 0) << "nothing is measured that nobody asked for";
}

TEST(Machine, NotesWhatKeepsItsCpuFromDoingAllThatItCan) {
  for (const char* const limit : {"ONEDNN_MAX_CPU_ISA", "ATEN_CPU_CAPABILITY"}) {
    const char* const value = std::getenv(limit);
    const auto said = ::testing::Contains(text(limit, " is ", value == nullptr ? "" : value));
    if (value == nullptr || *value == '\0') {
      EXPECT_THAT(detect_machine().notes, ::testing::Not(said));
    } else {
      EXPECT_THAT(detect_machine().notes, said);
    }
  }
}

}  // namespace
}  // namespace larmor
