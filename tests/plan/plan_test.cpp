// The planner by table: machines written by hand, the plan they give, and the reasons it names.
#include "larmor/plan/plan.h"

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/plan/support/machines.h"

namespace larmor {
namespace {

using testing::autoencoder;
using ::testing::Contains;
using testing::gibibyte;
using testing::machine;
using testing::mebibyte;
using testing::summary;
using testing::two_node_machine;
using testing::with_gpus;

struct Row {
  const char* situation;
  Hardware hardware;
  std::function<void(RunConfig&, Demand&)> request;
  const char* plan;
  std::vector<std::string> reasons;
};

void PrintTo(const Row& row, std::ostream* out) { *out << row.situation; }

void nothing_asked(RunConfig&, Demand&) {}

Hardware l4(int count) { return with_gpus(machine(48, 192), count, "NVIDIA L4", 23034 * mebibyte, 8, 9); }
Hardware h100(int count) {
  return with_gpus(two_node_machine(96, 1024), count, "NVIDIA H100", 80 * gibibyte, 9, 0);
}

Hardware unequal() {
  return with_gpus(with_gpus(machine(16, 128), 1, "Tesla T4", 15 * gibibyte, 7, 5), 1, "NVIDIA A100",
                   40 * gibibyte, 8, 0);
}

Hardware quota_of_two() {
  Hardware hardware = machine(64, 256);
  hardware.cpu_quota = 2.0;
  hardware.memory_limit_bytes = 8 * gibibyte;
  hardware.notes = {"cgroup v2: 2.0 of 64 cores", "cgroup v2: 8 GiB of 256 GiB memory"};
  return hardware;
}

Hardware slurm_share() {
  Hardware hardware = l4(2);
  hardware.slurm_cpus_per_task = 8;
  hardware.memory_limit_bytes = 32 * gibibyte;
  return hardware;
}

Hardware with_bf16(double speedup) {
  Hardware hardware = machine(8, 32);
  hardware.bf16_speedup = speedup;
  return hardware;
}

Hardware busy_card() {
  Hardware hardware = l4(1);
  hardware.gpus[0].free_bytes = 3 * gibibyte;
  return hardware;
}

std::vector<Row> cpu_rows() {
  return {
      {"a laptop of four cores",
       machine(4, 16),
       nothing_asked,
       "cpu x1 | 2 = 2 x 1 x 1 | fp32 single | 4+1 threads",
       {"Device cpu: this job sees no GPU.", "1 rank: on a CPU the cores are for the threads of one process.",
        "Precision fp32: the device is a CPU whose bf16 has not been measured.",
        "Layout channels_last: 3-D convolutions are faster where a voxel's channels lie side by side.",
        "4 compute threads a rank: 4 cores of 4 / 1 rank.",
        "1 loader thread a rank: on a CPU the cores are busy computing.",
        "Global batch 2 = micro-batch 2 × accumulation 1 × 1 rank: the micro-batch is the workload's "
        "preferred 2.",
        "Strategy single: 1 rank has no other to share with.",
        "Deterministic: on a CPU equal bits cost nothing."}},
      {"a machine of which nothing is known",
       Hardware{},
       nothing_asked,
       "cpu x1 | 2 = 2 x 1 x 1 | fp32 single | 1+1 threads",
       {"Memory is not checked: the hardware does not say how much there is.",
        "No rank is bound to cores: 0 cores for 1 rank."}},
      {"a server that is fast in bf16",
       with_bf16(2.91),
       nothing_asked,
       "cpu x1 | 2 = 2 x 1 x 1 | bf16 single | 8+1 threads",
       {"Precision bf16: this CPU computes in bf16 2.9 times as fast as in fp32 (measured); "
        "train.precision=fp32 is a choice.",
        "Layout channels_last: 3-D convolutions are faster where a voxel's channels lie side by side."}},
      {"a server whose bf16 gains little",
       with_bf16(1.2),
       nothing_asked,
       "cpu x1 | 2 = 2 x 1 x 1 | fp32 single | 8+1 threads",
       {"Precision fp32: in bf16 this CPU computes 1.2 times as fast as in fp32 (measured), and it takes "
        "1.3."}},
      {"a container of two cores on a large host",
       quota_of_two(),
       nothing_asked,
       "cpu x1 | 2 = 2 x 1 x 1 | fp32 single | 2+1 threads",
       {"2 compute threads a rank: 2 cores of 64 / 1 rank."}},
  };
}

std::vector<Row> asked_cpu_rows() {
  return {
      {"two CPU ranks as asked",
       machine(2, 24),
       [](RunConfig& c, Demand&) { c.parallel.ranks = "2"; },
       "cpu x2 | 4 = 2 x 1 x 2 | fp32 ddp | 1+1 threads",
       {"2 ranks on 2 cores, as asked.",
        "Strategy ddp: each of 2 ranks needs 1.36 GiB of 11.8 GiB for a micro-batch of 1, and none costs "
        "less "
        "time.",
        "Each rank is bound to its part of 2 cores.", "Gradient buckets of 25 MiB: the usual size."}},
      {"two CPU ranks and a global batch",
       machine(4, 24),
       [](RunConfig& c, Demand&) {
         c.parallel.ranks = "2";
         c.train.global_batch = 12;
         c.train.precision = "bf16";
       },
       "cpu x2 | 12 = 2 x 3 x 2 | bf16 ddp | 2+1 threads",
       {"Global batch 12 = micro-batch 2 × accumulation 3 × 2 ranks: the micro-batch is the largest divisor "
        "of the rank's 6 up to the workload's preferred 2.",
        "Precision bf16, as asked."}},
      {"the CPU of a machine with cards",
       l4(2),
       [](RunConfig& c, Demand&) { c.parallel.device = "cpu"; },
       "cpu x1 | 2 = 2 x 1 x 1 | fp32 single | 48+1 threads",
       {"Device cpu, as asked: this job sees 2 GPUs."}},
      {"little memory for many ranks",
       machine(8, 8),
       [](RunConfig& c, Demand&) { c.parallel.ranks = "4"; },
       "cpu x4 | 4 = 1 x 1 x 4 | fp32 ddp | 2+1 threads",
       {"Global batch 4 = micro-batch 1 × accumulation 1 × 4 ranks: the micro-batch is 1, which is what fits "
        "in memory instead of the workload's preferred 2."}},
      {"double precision on request",
       machine(4, 64),
       [](RunConfig& c, Demand&) { c.train.precision = "fp64"; },
       "cpu x1 | 2 = 2 x 1 x 1 | fp64 single | 4+1 threads",
       {"Precision fp64, as asked."}},
      {"the guide without a card",
       machine(8, 64),
       [](RunConfig& c, Demand& d) {
         c.plan.profile = "guide";
         d.guide = testing::question_answering_guide();
       },
       "cpu x1 | 32 = 4 x 8 x 1 | fp32 single | 8+4 threads",
       {"4 loader threads a rank: the guide's 4 at most, with 2 of 8 cores left free."}},
  };
}

std::vector<Row> gpu_rows() {
  return {
      {"one card of 8 GB",
       with_gpus(machine(12, 32), 1, "GeForce RTX 3070", 8 * gibibyte, 8, 6),
       nothing_asked,
       "cuda 0 | 2 = 2 x 1 x 1 | bf16 single | 12+8 threads",
       {"Device cuda: this job sees 1 GPU.", "1 rank, one a GPU.",
        "Precision bf16: GPU 0 has compute capability 8.6; bf16 needs 8.0, fp16 needs 7.0.",
        "8 loader threads a rank: 12 cores / 1 rank, less 1 that feeds the GPU, at most 8.",
        "Not deterministic: on CUDA equal bits cost speed, run.deterministic=true chooses them."}},
      {"an old card",
       with_gpus(machine(8, 32), 1, "GeForce GTX 1080", 8 * gibibyte, 6, 1),
       nothing_asked,
       "cpu x1 | 2 = 2 x 1 x 1 | fp32 single | 8+1 threads",
       {"Device cpu: this job sees no GPU that can compute.",
        "GPU 0 (GeForce GTX 1080) cannot compute here: it is of compute capability 6.1, for which this build "
        "has no "
        "code: it has 7.5, 8.0, 8.6, 9.0, 10.0, 12.0; build with a libtorch that has code for it "
        "(LARMOR_LIBTORCH) "
        "and with -DLARMOR_CUDA_ARCHITECTURES."}},
      {"an old card beside a newer one",
       with_gpus(with_gpus(machine(8, 32), 1, "GeForce GTX 1080", 8 * gibibyte, 6, 1), 1, "NVIDIA L4",
                 24 * gibibyte, 8, 9),
       nothing_asked,
       "cuda 1 | 2 = 2 x 1 x 1 | bf16 single | 8+7 threads",
       {"Device cuda: this job sees 1 GPU that can compute."}},
      {"two unequal cards",
       unequal(),
       nothing_asked,
       "cuda 0,1 | 4 = 2 x 1 x 2 | fp16 ddp | 8+7 threads",
       {"The GPUs are unequal: planned for the smallest, GPU 0 (Tesla T4, 15 GiB).",
        "Precision fp16: GPU 0 has compute capability 7.5; bf16 needs 8.0, fp16 needs 7.0 on every card."}},
      {"the better of two unequal cards",
       unequal(),
       [](RunConfig& c, Demand&) { c.parallel.ranks = "1"; },
       "cuda 1 | 2 = 2 x 1 x 1 | bf16 single | 16+8 threads",
       {"1 rank, one a GPU; GPU 0 stays idle, as asked."}},
      {"a list of cards",
       l4(4),
       [](RunConfig& c, Demand&) { c.parallel.ranks = "0,2"; },
       "cuda 0,2 | 4 = 2 x 1 x 2 | bf16 ddp | 24+8 threads",
       {"2 ranks, one a GPU; GPUs 1 and 3 stay idle, as asked."}},
      {"one card by its number",
       l4(4),
       [](RunConfig& c, Demand&) { c.parallel.ranks = "[3]"; },
       "cuda 3 | 2 = 2 x 1 x 1 | bf16 single | 48+8 threads",
       {"1 rank, one a GPU; GPUs 0, 1 and 2 stay idle, as asked."}},
  };
}

std::vector<Row> idle_gpu_rows() {
  return {
      {"eight cards and a batch of twelve",
       h100(8),
       [](RunConfig& c, Demand&) { c.train.global_batch = 12; },
       "cuda 0,1,2,3,4,5 | 12 = 2 x 1 x 6 | bf16 ddp | 16+8 threads",
       {"6 ranks, one a GPU; GPUs 6 and 7 stay idle: 6 is the largest count up to 8 that train.global_batch "
        "12 allows."}},
      {"eight cards that both sizes leave four of",
       h100(8),
       [](RunConfig& c, Demand&) {
         c.train.global_batch = 24;
         c.train.micro_batch = 3;
         c.train.accumulation = 2;
       },
       "cuda 0,1,2,3 | 24 = 3 x 2 x 4 | bf16 ddp | 24+8 threads",
       {"Global batch 24 = micro-batch 3 × accumulation 2 × 4 ranks: as given."}},
      {"eight cards and six examples",
       h100(8),
       [](RunConfig&, Demand& d) { d.training_examples = 6; },
       "cuda 0,1,2,3,4,5 | 6 = 1 x 1 x 6 | bf16 ddp | 16+8 threads",
       {"6 ranks, one a GPU; GPUs 6 and 7 stay idle: there are only 6 training examples.",
        "Global batch 6 = micro-batch 1 × accumulation 1 × 6 ranks: the micro-batch is cut to 1 because "
        "there are only 6 training examples."}},
      {"one rank because the strategy is single",
       l4(4),
       [](RunConfig& c, Demand&) { c.parallel.strategy = "single"; },
       "cuda 0 | 2 = 2 x 1 x 1 | bf16 single | 48+8 threads",
       {"1 rank, one a GPU; GPUs 1, 2 and 3 stay idle: parallel.strategy is single."}},
  };
}

std::vector<Row> asked_gpu_rows() {
  return {
      {"a SLURM share of eight cores",
       slurm_share(),
       nothing_asked,
       "cuda 0,1 | 4 = 2 x 1 x 2 | bf16 ddp | 4+3 threads",
       {"4 compute threads a rank: 8 cores of 48 / 2 ranks.",
        "3 loader threads a rank: 8 cores / 2 ranks, less 1 that feeds the GPU, at most 8."}},
      {"a card that others use",
       busy_card(),
       [](RunConfig&, Demand& d) { d.preferred_micro_batch = 8; },
       "cuda 0 | 3 = 3 x 1 x 1 | bf16 single | 48+8 threads",
       {"Global batch 3 = micro-batch 3 × accumulation 1 × 1 rank: the micro-batch is 3, which is what fits "
        "in memory instead of the workload's preferred 8."}},
      {"batch norm takes its share whole",
       l4(2),
       [](RunConfig& c, Demand& d) {
         d.batch_norm = true;
         c.train.global_batch = 16;
       },
       "cuda 0,1 | 16 = 8 x 1 x 2 | bf16 ddp | 24+8 threads",
       {"Global batch 16 = micro-batch 8 × accumulation 1 × 2 ranks: batch norm needs accumulation 1."}},
      {"a given accumulation",
       l4(2),
       [](RunConfig& c, Demand&) {
         c.train.global_batch = 16;
         c.train.accumulation = 4;
       },
       "cuda 0,1 | 16 = 2 x 4 x 2 | bf16 ddp | 24+8 threads",
       {"Global batch 16 = micro-batch 2 × accumulation 4 × 2 ranks: the accumulation is given, the "
        "micro-batch follows."}},
      {"ddp with one rank as asked",
       l4(1),
       [](RunConfig& c, Demand&) { c.parallel.strategy = "ddp"; },
       "cuda 0 | 2 = 2 x 1 x 1 | bf16 ddp | 48+8 threads",
       {}},
      {"workers and determinism as asked",
       l4(1),
       [](RunConfig& c, Demand&) {
         c.data.workers = 2;
         c.run.deterministic = true;
       },
       "cuda 0 | 2 = 2 x 1 x 1 | bf16 single | 48+2 threads",
       {"2 loader threads a rank, as asked.", "Deterministic, as asked."}},
  };
}

/// The published table has four cards; the last row is the one that the guide's own program does not reach.
std::vector<Row> guide_rows() {
  const auto guide = [](RunConfig& c, Demand& d) {
    c.plan.profile = "guide";
    d = Demand{};  // an X-ray model: nothing that memory would limit
    d.training_examples = 31'200'000;
    d.guide = testing::question_answering_guide();
  };
  const auto cards = [](int count, uint64_t mebibytes) {
    return with_gpus(machine(16, 64), count, "Card", mebibytes * mebibyte, 8, 0);
  };
  return {
      {"the guide with 24 GB",
       cards(4, 23034),
       guide,
       "cuda 0,1,2,3 | 256 = 16 x 4 x 4 | bf16 zero2 | 4+3 threads",
       {"Global batch 256 = micro-batch 16 × accumulation 4 × 4 ranks: the micro-batch is the guide's 16 for "
        "22.5 GiB, the accumulation the guide's.",
        "3 loader threads a rank: the guide's 3 at most, with 2 of 16 cores left free.",
        "Strategy zero2: the guide's choice for 4 GPUs."}},
      {"the guide with 16 GB",
       cards(4, 15360),
       guide,
       "cuda 0,1,2,3 | 240 = 12 x 5 x 4 | bf16 zero2 | 4+3 threads",
       {}},
      {"the guide with 12 GB",
       cards(4, 12288),
       guide,
       "cuda 0,1,2,3 | 256 = 8 x 8 x 4 | bf16 zero2 | 4+3 threads",
       {}},
      {"the guide with 8 GB",
       cards(4, 8192),
       guide,
       "cuda 0,1,2,3 | 256 = 4 x 16 x 4 | bf16 zero2 | 4+3 threads",
       {}},
      {"the guide with 4 GB",
       cards(4, 4096),
       guide,
       "cuda 0,1,2,3 | 256 = 2 x 32 x 4 | bf16 zero2 | 4+3 threads",
       {}},
      {"the guide with one card",
       cards(1, 23034),
       guide,
       "cuda 0 | 256 = 16 x 16 x 1 | bf16 single | 16+3 threads",
       {}},
      {"the guide under a global batch of one's own",
       cards(2, 23034),
       [guide](RunConfig& c, Demand& d) {
         guide(c, d);
         c.train.global_batch = 48;
       },
       "cuda 0,1 | 48 = 12 x 2 x 2 | bf16 zero2 | 8+3 threads",
       {}},
  };
}

class MakePlan : public ::testing::TestWithParam<Row> {};

TEST_P(MakePlan, FollowsTheTable) {
  const Row& row = GetParam();
  RunConfig config;
  Demand demand = autoencoder();
  row.request(config, demand);
  const Plan plan = make_plan(row.hardware, demand, config);
  EXPECT_EQ(summary(plan), row.plan) << row.situation;
  for (const std::string& reason : row.reasons) EXPECT_THAT(plan.reasons, Contains(reason)) << row.situation;
  EXPECT_EQ(to_json(make_plan(row.hardware, demand, config)), to_json(plan)) << "the same question twice";
}

std::string name_of(const ::testing::TestParamInfo<Row>& row) {
  std::string name;
  bool starts_word = true;
  for (const char* letter = row.param.situation; *letter != '\0'; ++letter) {
    const bool is_letter = (*letter >= 'a' && *letter <= 'z') || (*letter >= 'A' && *letter <= 'Z') ||
                           (*letter >= '0' && *letter <= '9');
    if (is_letter) name += starts_word && *letter >= 'a' ? static_cast<char>(*letter - 32) : *letter;
    starts_word = !is_letter;
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(OnCpu, MakePlan, ::testing::ValuesIn(cpu_rows()), name_of);
INSTANTIATE_TEST_SUITE_P(OnCpuAsAsked, MakePlan, ::testing::ValuesIn(asked_cpu_rows()), name_of);
INSTANTIATE_TEST_SUITE_P(OnGpus, MakePlan, ::testing::ValuesIn(gpu_rows()), name_of);
INSTANTIATE_TEST_SUITE_P(OnSomeGpus, MakePlan, ::testing::ValuesIn(idle_gpu_rows()), name_of);
INSTANTIATE_TEST_SUITE_P(OnGpusAsAsked, MakePlan, ::testing::ValuesIn(asked_gpu_rows()), name_of);
INSTANTIATE_TEST_SUITE_P(ByTheGuide, MakePlan, ::testing::ValuesIn(guide_rows()), name_of);

TEST(AllowedWorldSizes, AreTheDivisorsFromTheLargest) {
  EXPECT_EQ(allowed_world_sizes(12, 8), (std::vector<int64_t>{6, 4, 3, 2, 1}));
  EXPECT_EQ(allowed_world_sizes(7, 4), (std::vector<int64_t>{1}));
  EXPECT_EQ(allowed_world_sizes(2, 100), (std::vector<int64_t>{2, 1}));
}

}  // namespace
}  // namespace larmor
