#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/hardware/hardware.h"

namespace larmor {
namespace {

Hardware every_field_set() {
  Hardware hardware;
  hardware.host = "node7";
  hardware.cpu_name = "Invented CPU";
  hardware.machine_cores = 64;
  hardware.cores = {4, 5, 6};
  hardware.cpu_quota = 2.5;
  hardware.physical_cores = 2;
  hardware.numa_of_core = {0, 0, 1};
  hardware.physical_of_core = {2, 2, 3};
  hardware.has_avx2 = hardware.has_avx512 = hardware.has_amx_bf16 = true;
  hardware.free_cores = 2.5;
  hardware.free_cores_now = 1.5;
  hardware.measured_on = "2026-01-02";
  hardware.computes_bf16 = true;
  hardware.bf16_speedup = 2.5;
  hardware.cpu_kernels = "AVX512";
  hardware.memory_bytes = 64;
  hardware.memory_limit_bytes = 32;
  hardware.memory_available_bytes = 16;
  hardware.shm_bytes = 8;
  hardware.disk_free_bytes = 4;
  hardware.slurm_cpus_per_task = 3;
  hardware.gpus = {{0, "Card", 24, 23, 8, 9, 1, "GPU-1"}};
  hardware.segments_grow = true;
  hardware.driver_version = "550.1";
  hardware.notes = {"affinity: 3 of 64 cores"};
  return hardware;
}

/// The message and hint of the error that reading `source` throws.
std::string refusal(const char* source) {
  try {
    hardware_from_json(Json::parse(source));
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::usage);
    return error.message() + " | " + error.hint();
  }
  return "accepted";
}

TEST(HardwareJson, ReadsBackWhatItWrote) {
  const Json json = to_json(every_field_set());
  EXPECT_EQ(to_json(hardware_from_json(json)), json);
  EXPECT_EQ(to_json(hardware_from_json(to_json(Hardware{}))), to_json(Hardware{}));
}

TEST(HardwareJson, TakesAProfileWrittenByHand) {
  const Hardware hardware = hardware_from_json(Json::parse(
      R"({"cores": 96, "memory_bytes": 1000, "gpus": [{"memory_bytes": 85899345920, "capability": [9, 0]}]})"));
  EXPECT_EQ(hardware.usable_cores(), 96);
  EXPECT_EQ(hardware.memory_limit_bytes, 1000U);
  ASSERT_EQ(hardware.gpus.size(), 1U);
  EXPECT_EQ(hardware.gpus[0].free_bytes, 85899345920U);
  EXPECT_EQ(hardware.gpus[0].capability_major, 9);
}

TEST(HardwareJson, DoesNotKnowOfAnOlderFileWhatNobodyAskedThen) {
  Json older = to_json(every_field_set());
  older.erase("computes_bf16");
  older.erase("cpu_kernels");
  older.erase("free_cores");
  const Hardware hardware = hardware_from_json(older);
  EXPECT_EQ(hardware.computes_bf16, std::nullopt);
  EXPECT_EQ(hardware.cpu_kernels, "");
  EXPECT_EQ(hardware.free_cores, std::nullopt);
  EXPECT_EQ(hardware_from_json(Json::parse(R"({"cores": 4, "computes_bf16": false})")).computes_bf16, false);
}

TEST(HardwareJson, NamesTheKeyThatIsWrong) {
  EXPECT_EQ(refusal(R"({"cpu_quota": "two"})"),
            "hardware.json: cpu_quota must be a number, found \"two\" | ");
  EXPECT_EQ(refusal(R"({"memory_bytes": -1})"), "hardware.json: memory_bytes must be in range, found -1 | ");
  EXPECT_EQ(refusal(R"({"memory_byte": 1})"),
            "hardware.json: no such key: memory_byte | did you mean memory_bytes?");
  EXPECT_EQ(refusal(R"({"gpus": [{"capability": [8, 0]}]})"),
            "hardware.json: gpus[0]: the key memory_bytes is missing | ");
  EXPECT_EQ(refusal(R"({"cores": 4, "numa_of_core": [0]})"),
            "hardware.json: numa_of_core has 1 entries for 4 cores | ");
  EXPECT_EQ(refusal(R"({"slurm_cpus_per_task": 4294967296})"),
            "hardware.json: slurm_cpus_per_task must be in range, found 4294967296 | ");
  EXPECT_EQ(refusal(R"({"gpus": [{"memory_bytes": 1, "capability": [8, 0]},
                                {"memory_bytes": 1, "capability": [8, 0], "index": 0}]})"),
            "hardware.json: two gpus have the index 0 | ");
  EXPECT_EQ(refusal(R"({"cores": [0, -1]})"), "hardware.json: cores holds -1 | ");
  EXPECT_EQ(refusal(R"({"cores": 0})"), "hardware.json: cores cannot be 0 | ");
  EXPECT_EQ(refusal(R"([1])"), "hardware.json: expected an object, found array | ");
  EXPECT_EQ(refusal(R"({"format": 2})"), "hardware.json: format 2 is not known; this is 1 | ");
}

}  // namespace
}  // namespace larmor
