// The plan as people read it, letter by letter.
#include <gtest/gtest.h>

#include "larmor/plan/plan.h"

#include "tests/plan/support/machines.h"

namespace larmor {
namespace {

using testing::autoencoder;
using testing::gibibyte;
using testing::machine;
using testing::with_gpus;

TEST(Explain, ShowsTheWholePlanAndWhy) {
  Hardware hardware = with_gpus(machine(8, 64), 3, "NVIDIA L4", 24 * gibibyte, 8, 9);
  RunConfig config;
  config.train.global_batch = 8;
  const Plan plan = make_plan(hardware, autoencoder(), config);
  const std::string shown = explain(plan, hardware);
  EXPECT_TRUE(
      shown.starts_with("plan\n"
                        "  device      cuda, 2 of 3 GPUs, GPU 2 idle\n"
                        "  ranks       2\n"
                        "  strategy    ddp: each rank keeps weights, gradients and optimizer states whole\n"
                        "  batch       8 = 2 micro-batch × 2 accumulation × 2 ranks\n"
                        "  precision   bf16, channels last\n"
                        "  threads     4 compute + 3 loading a rank, 2 micro-batches ahead\n"
                        "  exchange    gradients in buckets of 25 MiB, once a step\n"
                        "  recomputed  nothing\n"
                        "  memory      1.41 GiB of 21.7 GiB a rank: weights 120 MiB, gradients 80.1 MiB, "
                        "optimizer 160 MiB, activations 1 GiB, batches 64 MiB\n"
                        "  rank  device           cores\n"
                        "  0     GPU 0 NVIDIA L4  0-3\n"
                        "  1     GPU 1 NVIDIA L4  4-7\n"
                        "why\n"))
      << shown;
  for (const std::string& reason : plan.reasons)
    EXPECT_NE(shown.find("  " + reason + "\n"), std::string::npos);
}

TEST(Explain, ShowsWhatStaysWhereAndWhatIsComputedAgain) {
  const Hardware hardware = with_gpus(machine(8, 64), 2, "NVIDIA L4", 24 * gibibyte, 8, 9);
  RunConfig config;
  config.parallel.strategy = "zero3";
  config.parallel.offload = "optimizer";
  config.train.activation_checkpointing = "blocks";
  const std::string shown = explain(make_plan(hardware, autoencoder(), config), hardware);
  EXPECT_NE(shown.find("  strategy    zero3: each rank keeps 1/2 of weights, 1/2 of gradients, 1/2 of "
                       "optimizer states on the host\n"),
            std::string::npos)
      << shown;
  EXPECT_NE(shown.find("  recomputed  each block\n"), std::string::npos) << shown;
  EXPECT_NE(shown.find("; on the host optimizer 120 MiB\n"), std::string::npos) << shown;
}

TEST(Explain, SaysThatRanksAreThreads) {
  const Hardware hardware = with_gpus(machine(8, 64), 2, "NVIDIA L4", 24 * gibibyte, 8, 9);
  RunConfig config;
  config.parallel.strategy = "dp";
  const std::string shown = explain(make_plan(hardware, autoencoder(), config), hardware);
  EXPECT_NE(
      shown.find("  strategy    dp: each rank is a thread of one process and keeps weights, gradients and "
                 "optimizer states whole\n"),
      std::string::npos)
      << shown;
}

TEST(Explain, SaysOfOneRankOnlyWhatLiesOnTheHost) {
  const Hardware hardware = with_gpus(machine(8, 64), 1, "NVIDIA L4", 24 * gibibyte, 8, 9);
  RunConfig config;
  config.parallel.offload = "optimizer";
  const std::string shown = explain(make_plan(hardware, autoencoder(), config), hardware);
  EXPECT_NE(shown.find("  strategy    zero1: optimizer states on the host\n"), std::string::npos) << shown;
}

TEST(Explain, SaysThatOneRankSendsNothing) {
  const Hardware hardware = machine(4, 64);
  const std::string shown = explain(make_plan(hardware, autoencoder(), RunConfig{}), hardware);
  EXPECT_NE(shown.find("  strategy    single\n"), std::string::npos) << shown;
  EXPECT_NE(shown.find("  exchange    none\n"), std::string::npos) << shown;
}

TEST(Explain, ShowsCoresAsRanges) {
  Hardware hardware = machine(4, 64);
  hardware.cores = {0, 1, 2, 8};
  const std::string shown = explain(make_plan(hardware, autoencoder(), RunConfig{}), hardware);
  EXPECT_NE(shown.find("  0     cpu     0-2,8\n"), std::string::npos) << shown;
}

}  // namespace
}  // namespace larmor
