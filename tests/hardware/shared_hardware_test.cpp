// What several hosts share, and what several views of one host are together.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/hardware/hardware.h"

namespace larmor {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Gpu card(int index, const std::string& uuid, uint64_t memory_bytes = 80) {
  return {.index = index,
          .name = memory_bytes == 80 ? "Large" : "Small",
          .memory_bytes = memory_bytes,
          .free_bytes = memory_bytes - 1,
          .capability_major = memory_bytes == 80 ? 9 : 8,
          .capability_minor = 0,
          .numa_node = 0,
          .uuid = uuid};
}

Hardware host(const std::string& name, const std::vector<int>& cores) {
  Hardware hardware;
  hardware.host = name;
  hardware.machine_cores = 64;
  hardware.cores = cores;
  hardware.physical_cores = static_cast<int>(cores.size());
  hardware.numa_of_core.assign(cores.size(), 0);
  hardware.physical_of_core = cores;
  hardware.has_avx2 = hardware.has_avx512 = hardware.has_amx_bf16 = true;
  hardware.memory_bytes = hardware.memory_limit_bytes = hardware.memory_available_bytes = 1000;
  hardware.shm_bytes = hardware.disk_free_bytes = 500;
  return hardware;
}

TEST(SharedHardware, OfOneHostIsThatHost) {
  const Hardware alone = host("a", {0, 1, 2});
  EXPECT_EQ(to_json(shared_hardware({alone})), to_json(alone));
}

TEST(SharedHardware, HasTheFreeCoresOfTheBusiestHostThatTells) {
  const Hardware untold = host("a", {0, 1, 2, 3});
  Hardware quiet = host("b", {0, 1, 2, 3}), busy = host("c", {0, 1, 2, 3});
  quiet.free_cores = 3.9;
  busy.free_cores = 0.5;
  EXPECT_EQ(shared_hardware({quiet, busy}).free_cores, 0.5);
  EXPECT_EQ(shared_hardware({busy, quiet, untold}).free_cores, 0.5);
  EXPECT_EQ(shared_hardware({untold, quiet}).free_cores, 3.9);
  EXPECT_EQ(shared_hardware({untold, untold}).free_cores, std::nullopt);
}

TEST(SharedHardware, OfViewsAddsUpTheFreeCoresOfTheirCores) {
  Hardware first = host("a", {0, 1}), other = host("a", {2, 3}), same = host("a", {0, 1}),
           more = host("a", {1, 2});
  first.free_cores = 1.5;
  other.free_cores = 0.5;
  same.free_cores = 1.4;
  more.free_cores = 1;
  EXPECT_EQ(shared_hardware({first, other}).free_cores, 2.0);
  EXPECT_EQ(shared_hardware({first, same}).free_cores, 1.5);
  EXPECT_EQ(shared_hardware({first, more}).free_cores, 2.0) << "half of its cores are new";
  other.free_cores.reset();
  EXPECT_EQ(shared_hardware({first, other}).free_cores, std::nullopt);
}

TEST(SharedHardware, OfTwoHostsIsTheLeastInEachRespect) {
  Hardware large = host("a", {0, 1, 2, 3}), small = host("b", {8, 9});
  large.shm_bytes = 100;
  large.has_avx512 = false;
  large.gpus = {card(0, "GPU-a0"), card(1, "GPU-a1", 24), card(2, "GPU-a2")};
  small.memory_limit_bytes = 300;
  small.disk_free_bytes = 7;
  small.gpus = {card(0, "GPU-b0", 24), card(1, "GPU-b1")};
  for (const auto& order : {std::vector{large, small}, std::vector{small, large}}) {
    const Hardware least = shared_hardware(order);
    EXPECT_EQ(least.hosts, 2);
    EXPECT_THAT(least.cores, ElementsAre(8, 9));
    EXPECT_THAT(least.physical_of_core, ElementsAre(8, 9));
    EXPECT_EQ(least.usable_cores(), 2);
    EXPECT_EQ(least.physical_cores, 2);
    EXPECT_EQ(least.memory_bytes, 1000U);
    EXPECT_EQ(least.memory_limit_bytes, 300U);
    EXPECT_EQ(least.shm_bytes, 100U);
    EXPECT_EQ(least.disk_free_bytes, 7U);
    EXPECT_TRUE(least.has_avx2);
    EXPECT_FALSE(least.has_avx512);
    ASSERT_EQ(least.gpus.size(), 2U);
    for (size_t gpu = 0; gpu < 2; ++gpu) {
      EXPECT_EQ(least.gpus[gpu].index, static_cast<int>(gpu));
      EXPECT_EQ(least.gpus[gpu].memory_bytes, 24U);
      EXPECT_EQ(least.gpus[gpu].free_bytes, 23U);
      EXPECT_EQ(least.gpus[gpu].name, "Small");
      EXPECT_EQ(least.gpus[gpu].capability_major, 8);
    }
  }
  EXPECT_EQ(shared_hardware({large, small}).host, "a b");
  EXPECT_THAT(shared_hardware({large, small}).notes, Contains(HasSubstr("the least of 2 hosts: a, b")));
}

TEST(SharedHardware, ComputesInWhatEachOfItsCpusComputes) {
  Hardware able = host("a", {0}), unable = host("b", {0}), unknown = host("c", {0});
  able.computes_bf16 = true;
  able.cpu_kernels = "AVX512";
  unable.computes_bf16 = false;
  unable.cpu_kernels = "AVX2";
  for (const auto& order :
       {std::vector{able, unable}, std::vector{unable, able}, std::vector{unknown, unable, able}})
    EXPECT_EQ(shared_hardware(order).computes_bf16, false);
  EXPECT_EQ(shared_hardware({able, unable}).cpu_kernels, "AVX2");
  EXPECT_EQ(shared_hardware({unable, able}).cpu_kernels, "AVX2");
  EXPECT_EQ(shared_hardware({able, unknown}).computes_bf16, std::nullopt);
  EXPECT_EQ(shared_hardware({able, unknown}).cpu_kernels, "");
  able.host = unable.host = "a";
  EXPECT_EQ(shared_hardware({able, unable}).computes_bf16, false)
      << "two views of one host, one of them limited";
}

TEST(SharedHardware, CountsAQuotaForFewerCores) {
  Hardware limited = host("a", {0, 1, 2, 3}), free = host("b", {0, 1, 2});
  limited.cpu_quota = 2;
  const Hardware least = shared_hardware({free, limited});
  EXPECT_EQ(least.usable_cores(), 2);
  EXPECT_EQ(least.cores.size(), 4U);
}

TEST(SharedHardware, HasNoGpuWhereOneHostHasNone) {
  Hardware with = host("a", {0}), without = host("b", {0});
  with.gpus = {card(0, "GPU-a0")};
  EXPECT_THAT(shared_hardware({with, without}).gpus, IsEmpty());
  EXPECT_THAT(shared_hardware({without, with}).gpus, IsEmpty());
}

TEST(SharedHardware, JoinsTheViewsOfOneHost) {
  Hardware first = host("a", {0, 1}), second = host("a", {2, 3});
  first.gpus = {card(0, "GPU-x")};
  second.gpus = {card(0, "GPU-y")};
  first.slurm_cpus_per_task = second.slurm_cpus_per_task = 2;
  second.numa_of_core = {1, 1};
  const Hardware whole = shared_hardware({first, second});
  EXPECT_EQ(whole.hosts, 1);
  EXPECT_EQ(whole.host, "a");
  EXPECT_THAT(whole.cores, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(whole.numa_of_core, ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(whole.physical_of_core, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(whole.physical_cores, 4);
  EXPECT_EQ(whole.slurm_cpus_per_task, 4);
  EXPECT_EQ(whole.usable_cores(), 4);
  ASSERT_EQ(whole.gpus.size(), 2U);
  EXPECT_EQ(whole.gpus[0].uuid, "GPU-x");
  EXPECT_EQ(whole.gpus[1].uuid, "GPU-y");
  EXPECT_EQ(whole.gpus[1].index, 1);
}

TEST(SharedHardware, CountsWhatTwoViewsBothSeeOnce) {
  Hardware first = host("a", {0, 1, 2, 3});
  first.gpus = {card(0, "GPU-x"), card(1, "GPU-y")};
  Hardware second = first;
  second.gpus = {card(0, "GPU-y"), card(1, "GPU-x")};  // another order of CUDA_VISIBLE_DEVICES
  const Hardware whole = shared_hardware({first, second});
  EXPECT_EQ(whole.cores.size(), 4U);
  EXPECT_EQ(whole.physical_cores, 4);
  EXPECT_EQ(whole.gpus.size(), 2U);
  EXPECT_EQ(whole.slurm_cpus_per_task, std::nullopt);
}

TEST(SharedHardware, ForgetsWhatOneViewDoesNotKnowOfItsCores) {
  Hardware first = host("a", {0, 1}), second = host("a", {2, 3});
  second.numa_of_core.clear();
  const Hardware whole = shared_hardware({first, second});
  EXPECT_THAT(whole.numa_of_core, IsEmpty());
  EXPECT_THAT(whole.physical_of_core, ElementsAre(0, 1, 2, 3));
}

TEST(SharedHardware, JoinsViewsBeforeItComparesHosts) {
  const Hardware least =
      shared_hardware({host("a", {0, 1}), host("b", {0, 1, 2}), host("a", {2, 3}), host("c", {0, 1, 2, 3})});
  EXPECT_EQ(least.hosts, 3);
  EXPECT_THAT(least.cores, ElementsAre(0, 1, 2));
  EXPECT_EQ(least.host, "a b c");
}

TEST(SharedHardware, SurvivesItsFile) {
  const Hardware least = shared_hardware({host("a", {0, 1}), host("b", {0, 1, 2})});
  EXPECT_EQ(to_json(hardware_from_json(to_json(least))), to_json(least));
  EXPECT_EQ(hardware_from_json(to_json(least)).hosts, 2);
}

}  // namespace
}  // namespace larmor
