// On a CPU without bf16 the program plans and trains in fp32, and says why it does not do otherwise. oneDNN
// is told to take the CPU for one with AVX2 alone.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/processes/support/every_stage.h"
#include "tests/processes/support/nifti_bytes.h"
#include "tests/processes/support/program_run.h"

namespace larmor::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using Words = std::vector<std::string>;

constexpr const char* why =
    "this CPU does not compute in bf16, which takes AVX-512 (BW, DQ and VL) or AVX-NE-CONVERT";

class LimitedCpu : public ::testing::Test {
 protected:
  Finished call(Words words) const { return started(std::move(words), {{"ONEDNN_MAX_CPU_ISA", "AVX2"}}); }
  Finished call_unlimited(Words words) const { return started(std::move(words), {}); }
  std::filesystem::path runs() const { return scratch_.path() / "runs"; }
  std::filesystem::path folder() const { return scratch_.path(); }

 private:
  Finished started(Words words, std::map<std::string, std::string> environment) const {
    return larmor_program(std::move(words),
                          {.folder = scratch_.path(), .environment = std::move(environment)});
  }
  ScratchFolder scratch_;
};

void expect_refused(const Finished& end) {
  EXPECT_EQ(end.status, 2) << end.err;
  EXPECT_THAT(end.err, HasSubstr(std::string("train.precision is bf16, but ") + why));
  EXPECT_THAT(end.err, HasSubstr("hint: train.precision=fp32, or leave it at auto"));
}

TEST_F(LimitedCpu, IsPlannedForInFp32AtEachStage) {
  const auto stages = words_of_every_stage(folder());
  EXPECT_EQ(stages.size(), 9U);
  for (Words words : stages) {
    words.insert(words.begin(), "plan");
    words.insert(words.end(), {"train.precision=auto", "--json"});
    const auto end = call(words);
    ASSERT_EQ(end.status, 0) << end.err;
    EXPECT_EQ(end.json().at("precision"), "fp32") << words[3];
    EXPECT_THAT(end.json().at("reasons").get<Words>(), Contains(HasSubstr(why))) << words[3];
  }
}

TEST_F(LimitedCpu, TrainsWhatWasPlannedForIt) {
  const auto end =
      call({"train", "survival", "-c", "tiny", "train.precision=auto", "run.name=wide", "--steps", "2"});
  ASSERT_EQ(end.status, 0) << end.err;
  EXPECT_EQ(events_of(runs() / "wide", "step").size(), 2U);
  EXPECT_EQ(read_json(runs() / "wide/plan.json").at("precision"), "fp32");
  const Json hardware = read_json(runs() / "wide/hardware.json");
  EXPECT_EQ(hardware.at("computes_bf16"), false);
  EXPECT_EQ(hardware.at("bf16_speedup"), 0) << "what cannot be had is not measured";
  EXPECT_THAT(hardware.at("notes").get<Words>(), Contains("ONEDNN_MAX_CPU_ISA is AVX2"));
}

TEST_F(LimitedCpu, IsRefusedBf16BeforeAnythingIsStarted) {
  for (const Words& verb : {Words{"plan"}, Words{"train"}, Words{"train", "--dry-run"},
                            Words{"bench", "step"}, Words{"doctor"}}) {
    Words words = verb;
    words.insert(words.end(), {"survival", "-c", "tiny", "train.precision=bf16"});
    expect_refused(call(words));
  }
  EXPECT_FALSE(std::filesystem::exists(runs()));
}

TEST_F(LimitedCpu, IsSaidByDoctor) {
  const auto end = call({"doctor"});
  EXPECT_EQ(end.status, 0) << end.err;
  EXPECT_THAT(
      end.out,
      HasSubstr("  computes  fp32; bf16 takes AVX-512 (BW, DQ and VL) or AVX-NE-CONVERT; kernels for "));
  EXPECT_THAT(end.out, HasSubstr("ONEDNN_MAX_CPU_ISA is AVX2"));
  EXPECT_EQ(call({"doctor", "--json"}).json().at("hardware").at("computes_bf16"), false);
}

TEST_F(LimitedCpu, IsPlannedForElsewhereByItsDescription) {
  put_file(folder() / "hardware.json",
           R"({"cores": 8, "memory_bytes": 34359738368, "computes_bf16": false})");
  put_file(folder() / "older.json", R"({"cores": 8, "memory_bytes": 34359738368})");
  const auto plan_for = [&](const char* file, const char* precision) {
    return call_unlimited({"plan", "survival", "-c", "tiny", "--hardware", file,
                           std::string("train.precision=") + precision, "--json"});
  };
  expect_refused(plan_for("hardware.json", "bf16"));
  EXPECT_EQ(plan_for("hardware.json", "auto").json().at("precision"), "fp32");
  EXPECT_EQ(plan_for("older.json", "bf16").json().at("precision"), "bf16") << "nobody has asked that CPU";
}

TEST_F(LimitedCpu, EvaluatesARunInBf16AndDoesNotGoOnWithIt) {
  if (call_unlimited({"doctor", "--json"}).json().at("hardware").at("computes_bf16") != true)
    GTEST_SKIP() << "this CPU does not compute in bf16";
  const Words words{"train", "survival", "-c", "tiny", "train.precision=bf16", "run.name=narrow", "--steps"};
  const auto until = [&](const char* step) {
    Words whole = words;
    whole.emplace_back(step);
    return whole;
  };
  ASSERT_EQ(call_unlimited(until("2")).status, 0);
  const auto refused = call(until("4"));
  expect_refused(refused);
  EXPECT_THAT(refused.err, HasSubstr("a run that was begun in bf16 goes on where that is computed"));
  const auto judged = call({"evaluate", "runs/narrow", "--checkpoint", "last", "--json"});
  EXPECT_EQ(judged.status, 0) << judged.err;
  const auto whole = call_unlimited(until("4"));
  EXPECT_EQ(whole.status, 0) << whole.err;
  EXPECT_EQ(events_of(runs() / "narrow", "step").size(), 4U);
}

TEST_F(LimitedCpu, IsNotMadeToRunWhatItLacks) {
  const auto end = larmor_program({"list"}, {.environment = {{"ATEN_CPU_CAPABILITY", "avx512"}}});
  const bool has_it = read_text("/proc/cpuinfo").find("avx512bw") != std::string::npos;
  EXPECT_EQ(end.status, has_it ? 0 : 4) << end.err;
}

}  // namespace
}  // namespace larmor::testing
