// The two tables that people read, letter by letter.
#include <gtest/gtest.h>

#include "larmor/plan/plan.h"

#include "tests/plan/support/machines.h"

namespace larmor {
namespace {

using testing::autoencoder;
using testing::gibibyte;
using testing::machine;
using testing::mebibyte;
using testing::with_gpus;

TEST(Explain, ShowsTheWholePlanAndWhy) {
  Hardware hardware = with_gpus(machine(8, 64), 3, "NVIDIA L4", 24 * gibibyte, 8, 9);
  RunConfig config;
  config.train.global_batch = 8;
  const Plan plan = make_plan(hardware, autoencoder(), config);
  const std::string shown = explain(plan, hardware);
  EXPECT_TRUE(
      shown.starts_with("plan\n"
                        "  device     cuda, 2 of 3 GPUs, GPU 2 idle\n"
                        "  ranks      2, strategy ddp\n"
                        "  batch      8 = 2 micro-batch × 2 accumulation × 2 ranks\n"
                        "  precision  bf16\n"
                        "  threads    4 compute + 3 loading a rank, 2 micro-batches ahead\n"
                        "  bucket     25 MiB\n"
                        "  memory     1.41 GiB of 23.2 GiB a rank: weights 120 MiB, gradients 80.1 MiB, "
                        "optimizer 160 MiB, activations "
                        "1 GiB, batches 64 MiB\n"
                        "  rank  device           cores\n"
                        "  0     GPU 0 NVIDIA L4  0-3\n"
                        "  1     GPU 1 NVIDIA L4  4-7\n"
                        "why\n"))
      << shown;
  for (const std::string& reason : plan.reasons)
    EXPECT_NE(shown.find("  " + reason + "\n"), std::string::npos);
}

TEST(Explain, ShowsCoresAsRanges) {
  Hardware hardware = machine(4, 64);
  hardware.cores = {0, 1, 2, 8};
  const std::string shown = explain(make_plan(hardware, autoencoder(), RunConfig{}), hardware);
  EXPECT_NE(shown.find("  0     cpu     0-2,8\n"), std::string::npos) << shown;
}

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

TEST(Describe, SaysThatThereIsNoCard) {
  EXPECT_NE(describe(machine(4, 16)).find("  GPUs      none\n"), std::string::npos);
}

}  // namespace
}  // namespace larmor
