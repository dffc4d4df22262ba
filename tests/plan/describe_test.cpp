// The hardware as people read it, letter by letter.
#include <gtest/gtest.h>

#include "larmor/plan/plan.h"

#include "tests/plan/support/machines.h"

namespace larmor {
namespace {

using testing::gibibyte;
using testing::machine;
using testing::mebibyte;
using testing::with_gpus;

TEST(Describe, ShowsCardsAndLimits) {
  Hardware hardware = with_gpus(machine(4, 64), 1, "NVIDIA L4", 24 * gibibyte, 8, 9);
  hardware = with_gpus(hardware, 1, "NVIDIA A100", 40 * gibibyte, 8, 0);
  hardware.host = "node7";
  hardware.cpu_name = "Invented CPU";
  hardware.has_avx2 = hardware.has_amx_bf16 = true;
  hardware.machine_cores = 64;
  hardware.memory_limit_bytes = 8 * gibibyte;
  hardware.memory_available_bytes = 6 * gibibyte;
  hardware.shm_bytes = 64 * mebibyte;
  hardware.disk_free_bytes = 100 * gibibyte;
  hardware.gpus[0].free_bytes = 23 * gibibyte;
  hardware.gpus[1].numa_node = 1;
  hardware.driver_version = "550.54.15";
  hardware.notes = {"affinity: 4 of 64 cores"};
  EXPECT_EQ(describe(hardware),
            "hardware\n"
            "  host      node7\n"
            "  GPUs      2, 64 GiB together, the smallest 24 GiB, driver 550.54.15\n"
            "  GPU 0     NVIDIA L4    24 GiB  (free 23 GiB)  compute 8.9\n"
            "  GPU 1     NVIDIA A100  40 GiB  (free 40 GiB)  compute 8.0  memory node 1\n"
            "  CPU       Invented CPU (AVX2, AMX bf16)\n"
            "  cores     4 of 64 usable, 4 physical\n"
            "  memory    8 GiB of the machine's 64 GiB (free 6 GiB)\n"
            "  /dev/shm  64 MiB free\n"
            "  disk      100 GiB free where runs go\n"
            "  note      affinity: 4 of 64 cores\n");
}

TEST(Describe, SaysInWhichTypesAndByWhichKernelsTheCpuComputes) {
  Hardware hardware = machine(4, 16);
  EXPECT_EQ(describe(hardware).find("computes"), std::string::npos) << "nobody asked";
  hardware.computes_bf16 = true;
  hardware.cpu_kernels = "AVX512";
  EXPECT_NE(describe(hardware).find("  computes  fp32 and bf16; kernels for AVX-512\n"), std::string::npos);
  hardware.computes_bf16 = false;
  hardware.cpu_kernels = "AVX2";
  EXPECT_NE(describe(hardware).find(
                "  computes  fp32; bf16 takes AVX-512 (BW, DQ and VL) or AVX-NE-CONVERT; kernels for "
                "AVX2\n"),
            std::string::npos);
  hardware.cpu_kernels = "DEFAULT";
  EXPECT_NE(describe(hardware).find("; kernels for any CPU, several times as slow as with AVX2\n"),
            std::string::npos);
}

TEST(Describe, SaysThatThereIsNoCard) {
  EXPECT_NE(describe(machine(4, 16)).find("  GPUs      none\n"), std::string::npos);
}

}  // namespace
}  // namespace larmor
