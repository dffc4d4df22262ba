#include "larmor/measure/machine_record.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "larmor/base/files/file.h"
#include "larmor/run/machine.h"

namespace larmor {
namespace {

class MachineRecords : public ::testing::Test {
 protected:
  MachineRecords() { clock_.set(1795000000); }  // 2026-11-18

  MachineRecord record(const std::string& machine = "a CPU") const { return {file_, machine, clock_}; }

  ScratchFolder scratch_;
  std::filesystem::path file_ = scratch_.path() / "machines" / "one.json";
  ManualClock clock_;
};

double must_not_measure() {
  ADD_FAILURE() << "what is kept is not measured again";
  return 0;
}

TEST_F(MachineRecords, KeepWhatTheFirstStartHasMeasured) {
  const auto first = record().kept_or("bf16_speedup", [] { return 1.9; });
  EXPECT_EQ(first.value, 1.9);
  EXPECT_EQ(first.day, "2026-11-18");
  clock_.set(1796000000);
  const auto second = record().kept_or("bf16_speedup", must_not_measure);
  EXPECT_EQ(second.value, 1.9);
  EXPECT_EQ(second.day, "2026-11-18") << "the day of the measurement, not of the start";
}

TEST_F(MachineRecords, KeepEachMeasureBesideTheOthers) {
  record().kept_or("bf16_speedup", [] { return 1.9; });
  record().kept_or("free_share", [] { return 0.5; });
  EXPECT_EQ(record().kept("bf16_speedup").value().value, 1.9);
  EXPECT_EQ(record().kept("free_share").value().value, 0.5);
  EXPECT_FALSE(record().kept("another"));
}

TEST_F(MachineRecords, KeepAMeasureInPlaceOfAnOlderOne) {
  record().keep_anew("step_ms 1", 90);
  clock_.set(1796000000);
  record().keep_anew("step_ms 1", 80);
  EXPECT_EQ(record().kept("step_ms 1").value().value, 80);
  EXPECT_NE(record().kept("step_ms 1").value().day, "2026-11-18");
}

TEST_F(MachineRecords, OfAnotherMachineDoNotCount) {
  record("a CPU").kept_or("bf16_speedup", [] { return 1.9; });
  EXPECT_FALSE(record("another CPU").kept("bf16_speedup"));
  EXPECT_EQ(record("another CPU").kept_or("bf16_speedup", [] { return 1.1; }).value, 1.1);
}

TEST_F(MachineRecords, OfTwoFirstStartsAtOnceBothTakeWhatTheQuickerOneKept) {
  const auto slower = record().kept_or("bf16_speedup", [&] {
    record().kept_or("bf16_speedup", [] { return 1.9; });
    return 1.2;
  });
  EXPECT_EQ(slower.value, 1.9);
}

TEST_F(MachineRecords, ThatAreTornAreMeasuredAnew) {
  for (const char* const content : {"", "{\"machine\": \"a CPU\", \"meas", "[]", "{\"machine\": \"a CPU\"}",
                                    R"({"machine": "a CPU", "measures": {"bf16_speedup": "fast"}})",
                                    R"({"machine": "a CPU", "measures": {"bf16_speedup": {"value": "x"}}})",
                                    R"({"machine": 3, "measures": 4})"}) {
    std::filesystem::create_directories(file_.parent_path());
    std::ofstream(file_) << content;
    EXPECT_EQ(record().kept_or("bf16_speedup", [] { return 1.9; }).value, 1.9) << content;
    EXPECT_EQ(record().kept("bf16_speedup").value().value, 1.9) << content;
  }
}

TEST_F(MachineRecords, AreNotKeptWhereTheyCannotBe) {
  const MachineRecord nowhere({}, "a CPU", clock_);
  EXPECT_EQ(nowhere.kept_or("bf16_speedup", [] { return 1.9; }).value, 1.9);
  EXPECT_FALSE(nowhere.kept("bf16_speedup"));
  std::ofstream(scratch_.path() / "file") << "no folder";
  const MachineRecord below_a_file(scratch_.path() / "file" / "one.json", "a CPU", clock_);
  EXPECT_EQ(below_a_file.kept_or("bf16_speedup", [] { return 1.9; }).value, 1.9);
}

TEST_F(MachineRecords, AreMeasuredAgainOnRequest) {
  record().kept_or("bf16_speedup", [] { return 1.2; });
  record().forget();
  record().forget();
  EXPECT_EQ(record().kept_or("bf16_speedup", [] { return 1.9; }).value, 1.9);
}

TEST_F(MachineRecords, GiveAJobAShareOfTheCoresThatItHasNow) {
  record().kept_or("free_share", [] { return 0.25; });
  HardwareSources sources;
  sources.environment.emplace();  // without LARMOR_FREE_CORES, which tests have
  for (const int cores : {2, 1}) {
    Hardware hardware;
    for (int core = 0; core < cores; ++core) hardware.cores.push_back(core);
    measure_cores(sources, record(), hardware);
    if (!hardware.free_cores_now) GTEST_SKIP() << "this system does not say what cores do";
    EXPECT_EQ(hardware.free_cores, 0.25 * cores) << "however busy they are now";
    EXPECT_EQ(hardware.measured_on, "2026-11-18");
  }
}

TEST_F(MachineRecords, HaveNoPartInWhatAVariableSays) {
  HardwareSources sources;
  sources.environment = std::map<std::string, std::string>{{"LARMOR_FREE_CORES", "1"}};
  Hardware hardware;
  hardware.cores = {0, 1};
  measure_cores(sources, record(), hardware);
  EXPECT_EQ(hardware.free_cores, 1);
  EXPECT_EQ(hardware.measured_on, "");
  EXPECT_FALSE(record().kept("free_share"));
}

}  // namespace
}  // namespace larmor
