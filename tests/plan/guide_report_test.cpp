#include "larmor/plan/guide_report.h"

#include <gtest/gtest.h>

namespace larmor {
namespace {

TEST(GuideReport, IsTheGuidesBlockForFourL4) {
  Hardware hardware;
  Gpu gpu;
  gpu.name = "NVIDIA L4";
  gpu.memory_bytes = uint64_t{24} << 30;
  gpu.free_bytes = (uint64_t{47} << 30) / 2;
  gpu.capability_major = 8;
  gpu.capability_minor = 9;
  for (gpu.index = 0; gpu.index < 4; ++gpu.index) hardware.gpus.push_back(gpu);
  Plan plan;
  plan.ranks.resize(4);
  plan.micro_batch = 16;
  plan.accumulation = 4;
  plan.global_batch = 256;
  plan.precision = Precision::fp16;
  plan.recompute = Recompute::blocks;
  plan.strategy = Strategy::zero2;
  plan.loader_threads = 3;
  const std::string report = guide_report(hardware, plan);
  for (const char* line : {"======================================================================\n"
                           "HARDWARE DETECTION RESULTS\n"
                           "======================================================================\n",
                           "  Number of GPUs:        4\n"
                           "  Total GPU Memory:      96.0 GB\n"
                           "  Min GPU Memory:        24.0 GB\n"
                           "\n"
                           "  GPU 0: NVIDIA L4\n"
                           "       Memory: 24.0 GB (Free: 23.5 GB)\n"
                           "       Compute: 8.9\n",
                           "  Batch size per GPU:    16\n"
                           "  Gradient accumulation: 4\n"
                           "  Effective batch size:  256\n"
                           "  DataLoader workers:    12\n"
                           "  Mixed precision (FP16): Enabled\n"
                           "  Gradient checkpointing: Enabled\n"
                           "  DeepSpeed ZeRO stage:  2\n"})
    EXPECT_NE(report.find(line), std::string::npos) << line << "is not in\n" << report;
}

TEST(GuideReport, SaysWhatAMachineWithoutGpusDoes) {
  Plan plan;
  plan.ranks.resize(1);
  const std::string report = guide_report(Hardware{}, plan);
  EXPECT_NE(report.find("  Number of GPUs:        0\n"), std::string::npos);
  EXPECT_NE(report.find("  Mixed precision (FP16): Disabled\n"), std::string::npos);
  EXPECT_NE(report.find("  DeepSpeed ZeRO stage:  0\n"), std::string::npos);
}

}  // namespace
}  // namespace larmor
