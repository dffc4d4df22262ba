// A signal is answered soon in whatever the program is at: while ranks wait for one another, in a validation
// that would take minutes, in prepare, evaluate and predict. What was done is whole, and a sentence says how
// to go on.
#include <algorithm>
#include <csignal>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"

#include "tests/processes/support/installed_program.h"
#include "tests/processes/support/network_hosts.h"
#include "tests/processes/support/nifti_bytes.h"
#include "tests/processes/support/program_run.h"
#include "tests/processes/support/small_training.h"
#include "tests/processes/support/toy_program.h"
#include "tests/processes/support/trained_state.h"

namespace larmor::testing {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr int environment = 4, stopped = 75;
/// Of a busy machine; what is stopped would take many times as long.
constexpr double soon = 20, patience = 90;

class Stops : public ::testing::Test {
 protected:
  ProgramOptions here() const { return {.folder = scratch_.path(), .program = toy_program()}; }
  fs::path run(const std::string& name) const { return scratch_.path() / "runs" / name; }
  /// A run of the toy's first stage, of so many steps and cases.
  static std::vector<std::string> training(const std::string& name, int steps, int cases = 24) {
    return {"train",
            "toy",
            "-c",
            "tiny",
            "--ranks",
            "1",
            "run.name=" + name,
            text("train.length=", steps, "st"),
            "train.validate_every=2st",
            "checkpoint.every=2st",
            "optim.schedule.warmup=0",
            text("data.phantom_cases=", cases)};
  }
  /// Whether the program, or what it has started, answers TERM in a way of its own.
  static bool hears(int process) {
    std::ifstream status(text("/proc/", process, "/status"));
    const std::string caught = "SigCgt:";
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with(caught))
        return (std::stoull(line.substr(caught.size()), nullptr, 16) >> (SIGTERM - 1) & 1U) != 0;
    }
    return false;
  }
  static void expect_an_answer(Running& program, int status, const std::string& words) {
    program.send(SIGTERM);
    ASSERT_TRUE(program.ends_within(soon)) << program.err();
    const auto end = program.wait();
    EXPECT_EQ(end.status, status) << end.err;
    EXPECT_THAT(end.err, HasSubstr(words));
  }

  ScratchFolder scratch_;
};

/// Enough for minutes.
constexpr int many_cases = 6000;

TEST_F(Stops, CutAValidationAndSaveTheStepWithoutAMetric) {
  auto words = training("cut", 4, many_cases);
  words.emplace_back("data.split={train: 0.01, val: 0.99}");
  Running program(words, here());
  ASSERT_TRUE(reaches_step(run("cut"), 2, patience)) << program.err();
  expect_an_answer(program, stopped, "stopped with a complete checkpoint; go on with: larmor train");
  EXPECT_THAT(events_of(run("cut"), "validation"), IsEmpty());
  EXPECT_THAT(events_of(run("cut"), "step"), SizeIs(2));
  const auto saved = run("cut") / "checkpoints" / "step-00000002";
  EXPECT_TRUE(read_json(saved / "manifest.json").at("metric").is_null());
  EXPECT_TRUE(read_json(saved / "state.json").at("trainer").contains("due_validation"));
}

TEST_F(Stops, EndRanksThatWaitForOneThatStarts) {
  for (const int signal : {SIGTERM, SIGHUP}) {
    SCOPED_TRACE(signal_name(signal));
    const auto name = signal_name(signal);
    auto words = training(name, 4);
    *(std::ranges::find(words, "--ranks") + 1) = "2";
    auto options = here();
    options.environment = {{"LARMOR_FAULT", "rank=1 phase=starting do=hang"}};
    Running program(words, options);
    ASSERT_TRUE(becomes_true([&] { return children_of(program.id()).size() == 2; }, patience));
    const auto log = run(name) / "log" / "launcher.log";
    ASSERT_TRUE(becomes_true([&] { return hears(program.id()); }, patience));
    program.send(signal);
    ASSERT_TRUE(program.ends_within(soon)) << program.err();
    const auto end = program.wait();
    EXPECT_EQ(end.status, 128 + signal) << end.err;
    EXPECT_THAT(end.err, AllOf(HasSubstr(text("ended by ", name, " while the ranks were starting")),
                               HasSubstr("begins anew: no checkpoint has been saved")));
    EXPECT_THAT(read_text(log), HasSubstr(text("got ", name)));
  }
}

TEST_F(Stops, EndPreparing) {
  constexpr int heads = 100;
  for (int head = 0; head < heads; ++head) {
    const float spacing = 1 + 0.01F * static_cast<float>(head);  // none is prepared with another
    put_file(scratch_.path() / "heads" / text("p", head) / "t1.nii", nifti_bytes({.spacing = spacing}));
  }
  auto slowly = here();
  slowly.environment = {{"LARMOR_FAIL_POINT", "create:1+:slow"}};
  const std::vector<std::string> words{
      "prepare", "toy", "-c", "tiny", "data.kind=nifti", "data.folder=heads", "data.cache_folder=store"};
  Running program(words, slowly);
  ASSERT_TRUE(becomes_true([&] { return hears(program.id()); }, patience)) << program.err();
  expect_an_answer(program, stopped, "stopped by SIGTERM\n  hint: the same command goes on");
  for (const auto& file : fs::recursive_directory_iterator(scratch_.path() / "store"))
    EXPECT_THAT(file.path().string(), Not(HasSubstr(".tmp"))) << "half an entry";
  const auto again = larmor_program(words, here());
  EXPECT_EQ(again.status, 0) << again.err;
}

TEST_F(Stops, EndJudging) {
  ASSERT_EQ(larmor_program(training("judged", 2), here()).status, 0);
  Running program({"evaluate", "judged", text("data.phantom_cases=", many_cases)}, here());
  ASSERT_TRUE(becomes_true([&] { return hears(program.id()); }, patience)) << program.err();
  expect_an_answer(program, stopped, "stopped by SIGTERM");
  EXPECT_THAT(program.out(), IsEmpty());
}

TEST_F(Stops, EndPredictingAndLeaveWhatWasDone) {
  ASSERT_EQ(larmor_program(training("shown", 2), here()).status, 0);
  for (const auto* ranks : {"1", "2"}) {
    SCOPED_TRACE(ranks);
    const auto folder = scratch_.path() / text("samples-", ranks);
    Running program({"predict", "shown", "--ranks", ranks, "--count", "100000", "--output", folder.string()},
                    here());
    ASSERT_TRUE(becomes_true([&] { return fs::exists(folder) && !fs::is_empty(folder); }, patience))
        << program.err();
    expect_an_answer(program, stopped, "predict the others again");
    for (const auto& file : fs::directory_iterator(folder))
      EXPECT_EQ(larmor_program({"inspect", file.path().string()}, here()).status, 0) << file.path();
  }
}

TEST_F(Stops, AtAStepThatIsPassedTrainNothingAndSaySo) {
  auto words = training("passed", 8);
  words.insert(words.end(), {"--steps", "6"});
  ASSERT_EQ(larmor_program(words, here()).status, 0);
  const auto before = trained_state(run("passed"));
  for (const auto* limit : {"3", "6"}) {
    const auto end = larmor_program({"train", "passed", "--steps", limit}, here());
    EXPECT_EQ(end.status, 0) << end.err;
    EXPECT_THAT(end.err, HasSubstr(text("--steps ", limit, ": the run has 6 steps already")));
  }
  EXPECT_EQ(trained_state(run("passed")), before);
  EXPECT_FALSE(fs::exists(run("passed") / "DONE"));
}

TEST_F(Stops, AreNotNeededWhereLoopbackIsDown) {
  if (const auto obstacle = NetworkHosts::obstacle(); !obstacle.empty()) GTEST_SKIP() << obstacle;
  auto options = here();
  options.program = installed_program("unshare");
  auto words = with(training("deaf", 4), "train.validate_every", "0");
  words.insert(words.begin(), {"--net", toy_program().string()});
  *(std::ranges::find(words, "--ranks") + 1) = "2";
  Running program(words, options);
  ASSERT_TRUE(program.ends_within(patience)) << program.err();
  const auto end = program.wait();
  EXPECT_EQ(end.status, environment) << end.err;
  EXPECT_THAT(end.err, AllOf(HasSubstr("cannot reach one another at 127.0.0.1"),
                             HasSubstr("ip link set lo up"), Not(HasSubstr("waited"))));
}

}  // namespace
}  // namespace larmor::testing
