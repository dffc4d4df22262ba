// TERM in the middle of phases that take a minute, in stages as they are: how many seconds until the end, and
// whether a run that is gone on with ends in the same bits. stops_test.cpp has the same with small stages,
// for every day.
#include <chrono>
#include <csignal>
#include <iostream>
#include <thread>

#include <gtest/gtest.h>

#include "larmor/base/clock.h"
#include "larmor/base/text.h"

#include "tests/processes/support/program_run.h"
#include "tests/processes/support/small_training.h"
#include "tests/processes/support/trained_state.h"

namespace larmor::testing {
namespace {

namespace fs = std::filesystem;

constexpr int stopped = 75;
/// One forward pass of these stages is far shorter; what is left is writing a checkpoint and ending
/// processes.
constexpr double soon = 2, patience = 600;
/// Into the phase, which would last ten times as long at least.
constexpr auto into = std::chrono::seconds(5);

struct Stage {
  std::string name;
  std::vector<std::string> words;  // of `train`, with a validation of about a minute
};

std::ostream& operator<<(std::ostream& out, const Stage& stage) { return out << stage.name; }

class MinuteLong : public ::testing::TestWithParam<Stage> {
 protected:
  fs::path run(const std::string& name) const { return scratch_.path() / "runs" / name; }
  std::vector<std::string> training(const std::string& name) const {
    std::vector<std::string> words{"train"};
    words.insert(words.end(), GetParam().words.begin(), GetParam().words.end());
    for (const auto* word : {"-c", "tiny", "--ranks", "1", "train.length=3st", "train.validate_every=2st",
                             "checkpoint.every=2st", "optim.schedule.warmup=0", "track.pictures_every=0",
                             "data.split={train: 0.02, val: 0.98, test: 0}"})
      words.emplace_back(word);
    words.push_back("run.name=" + name);
    return words;
  }
  ProgramOptions here() const { return {.folder = scratch_.path()}; }
  /// Sends TERM; the seconds until the program has ended, which it does with `status`.
  static double seconds_to_the_end(Running& program, int status) {
    const auto& clock = system_clock();
    const double asked = clock.steady_seconds();
    program.send(SIGTERM);
    EXPECT_TRUE(program.ends_within(patience)) << program.err();
    const double seconds = clock.steady_seconds() - asked;
    const auto end = program.wait();
    EXPECT_EQ(end.status, status) << end.err;
    return seconds;
  }
  static void show(const std::string& phase, double seconds) {
    std::cout << GetParam().name << ", " << phase << ": " << seconds << " s\n";
    EXPECT_LE(seconds, soon) << phase;
  }

 private:
  ScratchFolder scratch_;
};

TEST_P(MinuteLong, PhasesEndSoonAfterTermAndTheRunGoesOnInTheSameBits) {
  ASSERT_EQ(larmor_program(training("whole"), here()).status, 0);
  {
    Running program(training("cut"), here());
    ASSERT_TRUE(reaches_step(run("cut"), 2, patience)) << program.err();
    std::this_thread::sleep_for(into);
    ASSERT_TRUE(events_of(run("cut"), "validation").empty()) << "the validation was too short";
    show("validation", seconds_to_the_end(program, stopped));
    EXPECT_TRUE(fs::exists(run("cut") / "checkpoints" / "step-00000002" / "manifest.json"));
  }
  ASSERT_EQ(larmor_program({"train", "cut"}, here()).status, 0);
  const auto whole = trained_state(run("whole")), gone_on = trained_state(run("cut"));
  EXPECT_EQ(whole.steps, gone_on.steps);
  for (const auto& [name, hash] : whole.files) {
    if (name == "state.json") continue;  // has how often the run was started
    EXPECT_EQ(gone_on.files.at(name), hash) << name;
  }
  Running judged({"evaluate", "whole"}, here());
  std::this_thread::sleep_for(into);
  show("evaluate", seconds_to_the_end(judged, stopped));
}

INSTANTIATE_TEST_SUITE_P(
    Stages, MinuteLong,
    ::testing::Values(
        Stage{"whole_cases", {"survival", "data.cohort_cases=6000", "data.cohort_size=[40, 40, 40]"}},
        Stage{"reconstructions",
              {"latent_diffusion", "data.phantom_cases=1200", "data.phantom_size=[64, 64, 64]"}},
        Stage{"samples", {"fast_ddpm", "data.phantom_cases=1500", "data.phantom_size=[32, 32, 32]"}},
        Stage{"volumes_of_radiographs", {"xray_to_ct", "--stage", "stage1", "data.phantom_cases=3000"}},
        Stage{"questions", {"xray_vqa", "data.phantom_cases=6000"}}),
    [](const auto& stage) { return stage.param.name; });

}  // namespace
}  // namespace larmor::testing
