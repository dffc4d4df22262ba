// A run that was stopped, killed or interrupted goes on as if it had not been.
#include <csignal>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"

#include "tests/processes/support/small_training.h"
#include "tests/processes/support/trained_state.h"

namespace larmor::testing {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

constexpr int stopped = 75, rank_lost = 8;

std::vector<std::string> names_of(const std::map<std::string, std::string>& files) {
  std::vector<std::string> names;
  for (const auto& [name, content] : files) names.push_back(name);
  return names;
}

class StopAndResume : public ::testing::TestWithParam<int> {
 protected:
  int ranks() const { return GetParam(); }
  std::filesystem::path run(const std::string& name) const { return scratch_.path() / "runs" / name; }
  ProgramOptions here() const { return {.folder = scratch_.path()}; }

  /// Of a run with so many ranks that was left alone.
  const TrainedState& undisturbed() const {
    static std::map<int, TrainedState> by_ranks;
    if (const auto found = by_ranks.find(ranks()); found != by_ranks.end()) return found->second;
    const auto end = larmor_program(small_training("whole", ranks()), here());
    EXPECT_EQ(end.status, 0) << end.err;
    return by_ranks[ranks()] = trained_state(run("whole"));
  }

  void expect_it_goes_on_as_if_nothing_had_been(const std::string& name) {
    const auto end = larmor_program({"train", name}, here());
    ASSERT_EQ(end.status, 0) << end.err;
    EXPECT_TRUE(std::filesystem::exists(run(name) / "DONE"));
    EXPECT_FALSE(std::filesystem::exists(run(name) / "FAILED"));
    EXPECT_THAT(generations_of(run(name)), ElementsAre(0, 1));
    EXPECT_EQ(larmor_program({"checkpoint", "verify", name}, here()).status, 0);
    const auto& expected = undisturbed();
    const auto found = trained_state(run(name));
    EXPECT_THAT(names_of(expected.files),
                IsSupersetOf({"model.safetensors", "model.discriminator.safetensors", "ema.safetensors",
                              "optimizer-0.safetensors", "state.json"}));
    EXPECT_EQ(found.files, expected.files);
    EXPECT_EQ(expected.steps.size(), static_cast<size_t>(small_steps));
    EXPECT_EQ(found.steps, expected.steps);
  }

  ScratchFolder scratch_;
};

TEST_P(StopAndResume, ASignalEndsTheRunWithACheckpoint) {
  for (const int signal : {SIGTERM, SIGINT, SIGUSR1}) {
    SCOPED_TRACE(signal_name(signal));
    const auto name = signal_name(signal);
    Running training(small_training(name, ranks()), here());
    ASSERT_TRUE(reaches_step(run(name), 6)) << training.err();
    training.send(signal);
    const auto end = training.wait();
    EXPECT_EQ(end.status, stopped) << end.err;
    EXPECT_THAT(end.err, HasSubstr("stopped with a complete checkpoint; go on with: larmor train"));
    const auto steps = trained_state(run(name)).steps.size();
    EXPECT_LT(steps, static_cast<size_t>(small_steps));
    EXPECT_EQ(checkpoint_names(run(name)).back(), text("step-000000", steps < 10 ? "0" : "", steps));
    EXPECT_EQ(larmor_program({"checkpoint", "verify", name}, here()).status, 0);
    EXPECT_FALSE(std::filesystem::exists(run(name) / "DONE"));
    EXPECT_FALSE(std::filesystem::exists(run(name) / "FAILED"));
    expect_it_goes_on_as_if_nothing_had_been(name);
  }
}

TEST_P(StopAndResume, ASignalWhileTheRanksStartPromisesNoCheckpointThatIsNotThere) {
  Running training(small_training("early", ranks()), here());
  ASSERT_TRUE(becomes_true([&] { return !children_of(training.id()).empty(); }, 30));
  training.send(SIGTERM);
  const auto end = training.wait();
  const auto promise = HasSubstr("complete checkpoint");
  if (end.status == stopped) {
    EXPECT_THAT(end.err, promise);
    EXPECT_FALSE(checkpoint_names(run("early")).empty());
  } else {
    EXPECT_EQ(end.status, 128 + SIGTERM);
    EXPECT_THAT(end.err, Not(promise));
  }
  EXPECT_EQ(larmor_program({"train", "early"}, here()).status, 0);
  EXPECT_EQ(trained_state(run("early")), undisturbed());
}

TEST_P(StopAndResume, AStepLimitEndsWellAndIsNoEndOfTheRun) {
  auto words = small_training("limited", ranks());
  words.insert(words.end(), {"--steps", "9"});
  EXPECT_EQ(larmor_program(words, here()).status, 0);
  EXPECT_FALSE(std::filesystem::exists(run("limited") / "DONE"));
  EXPECT_EQ(trained_state(run("limited")).steps.size(), 9U);
  expect_it_goes_on_as_if_nothing_had_been("limited");
}

TEST_P(StopAndResume, AKilledRankIsNamedAndTheRestEnds) {
  auto killed = small_training("killed", ranks());
  killed.insert(killed.end(), {"--max-restarts", "0"});
  Running training(killed, here());
  ASSERT_TRUE(reaches_step(run("killed"), 9)) << training.err();
  const auto processes = children_of(training.id());
  ASSERT_EQ(processes.size(), static_cast<size_t>(ranks()));
  const auto words = text("rank ", ranks() - 1, " was killed by SIGKILL while ");
  const auto log = run("killed") / "log" / "launcher.log";
  constexpr double seconds_to_name = 1, grace = 25;
  kill(processes.back(), SIGKILL);
  EXPECT_TRUE(becomes_true([&] { return read_text(log).find(words) != std::string::npos; }, seconds_to_name));
  // One rank's end is the end of the run, and told then.
  const auto is_told = [&] { return training.err().find(words) != std::string::npos; };
  EXPECT_TRUE(ranks() == 1 || becomes_true(is_told, seconds_to_name)) << training.err();
  ASSERT_TRUE(training.ends_within(grace));
  const auto end = training.wait();
  EXPECT_EQ(end.status, rank_lost) << end.err;
  const auto newest = checkpoint_names(run("killed")).back();
  EXPECT_THAT(end.err, AllOf(HasSubstr(words), HasSubstr("goes on from the newest checkpoint, " + newest)));
  EXPECT_EQ(read_json(run("killed") / "FAILED").at("checkpoint"), newest);
  for (const int process : processes) EXPECT_TRUE(is_over(process)) << process;
  EXPECT_THAT(read_text(run("killed") / "FAILED"), HasSubstr(words));
  expect_it_goes_on_as_if_nothing_had_been("killed");
}

TEST_P(StopAndResume, AQuotaThatIsUsedUpEndsTheRunAndLeavesTheCheckpointBeforeItWhole) {
  auto words = small_training("quota", ranks());
  words.insert(words.end(), {"--steps", "8"});
  ASSERT_EQ(larmor_program(words, here()).status, 0);
  auto full = here();
  full.environment = {{"LARMOR_FAIL_POINT", "checkpoint.shard.written:1+:quota"}};
  const auto end = larmor_program({"train", "quota"}, full);
  constexpr int environment = 4;
  EXPECT_EQ(end.status, environment) << end.err;
  EXPECT_THAT(end.err, AllOf(HasSubstr("checkpoint of step 16 could not be saved, 3 failures in a row"),
                             HasSubstr("Disk quota exceeded"), HasSubstr("of your quota")));
  EXPECT_THAT(checkpoint_names(run("quota")), ::testing::ElementsAre("step-00000004", "step-00000008"));
  EXPECT_EQ(larmor_program({"checkpoint", "verify", "quota"}, here()).status, 0);
  ASSERT_EQ(larmor_program({"train", "quota"}, here()).status, 0);
  EXPECT_EQ(trained_state(run("quota")), undisturbed());
}

TEST_P(StopAndResume, RanksMultiplyAlikeWhereverTheirMatricesLie) {
  Running training(small_training("alike", ranks()), here());
  ASSERT_TRUE(reaches_step(run("alike"), 1)) << training.err();
  const auto processes = children_of(training.id());
  ASSERT_EQ(processes.size(), static_cast<size_t>(ranks()));
  const std::string setting("\0MKL_CBWR=AUTO\0", 15);
  for (const int process : processes)
    EXPECT_THAT(read_text(text("/proc/", process, "/environ")), HasSubstr(setting));
  training.send(SIGTERM);
  training.wait();
}

TEST_P(StopAndResume, NoRankOutlivesAKilledLauncher) {
  Running training(small_training("orphans", ranks()), here());
  ASSERT_TRUE(reaches_step(run("orphans"), 9)) << training.err();
  const auto processes = children_of(training.id());
  ASSERT_EQ(processes.size(), static_cast<size_t>(ranks()));
  training.send(SIGKILL);
  training.wait();
  constexpr double seconds_to_die = 2;
  for (const int process : processes) {
    EXPECT_TRUE(becomes_true([&] { return is_over(process); }, seconds_to_die)) << process;
  }
  expect_it_goes_on_as_if_nothing_had_been("orphans");
}

TEST_P(StopAndResume, ASecondSignalEndsAtOnce) {
  Running training(with(small_training("twice", ranks(), 4000), "checkpoint.every", "4000st"), here());
  ASSERT_TRUE(reaches_step(run("twice"), 2)) << training.err();
  const auto processes = children_of(training.id());
  training.send(SIGSTOP);  // so that both are there before it looks, in whatever order
  training.send(SIGTERM);
  training.send(SIGINT);
  training.send(SIGCONT);
  const auto end = training.wait();
  EXPECT_THAT(end.status, AnyOf(128 + SIGTERM, 128 + SIGINT));
  EXPECT_THAT(end.err, AllOf(HasSubstr("second signal"), Not(HasSubstr("complete checkpoint"))));
  for (const int process : processes) EXPECT_TRUE(is_over(process));
}

TEST(RunFolder, OfARunThatIsOverSaysSo) {
  const ScratchFolder scratch;
  const ProgramOptions here{.folder = scratch.path()};
  ASSERT_EQ(larmor_program(small_training("once", 1, 12), here).status, 0);
  const auto again = larmor_program({"train", "once"}, here);
  EXPECT_EQ(again.status, 0);
  EXPECT_THAT(again.err, HasSubstr("is finished already"));
}

TEST(RunFolder, OfAnotherConfigurationIsRefusedWithTheKeysThatDiffer) {
  const ScratchFolder scratch;
  const ProgramOptions here{.folder = scratch.path()};
  auto words = small_training("mine", 1, 12);
  words.insert(words.end(), {"--steps", "2"});
  ASSERT_EQ(larmor_program(words, here).status, 0);
  words.emplace_back("optim.learning_rate=0.5");
  const auto end = larmor_program(words, here);
  EXPECT_EQ(end.status, 2);
  EXPECT_THAT(end.err, HasSubstr("optim.learning_rate"));
}

TEST(RunFolder, InUseNamesItsHolder) {
  const ScratchFolder scratch;
  const ProgramOptions here{.folder = scratch.path()};
  Running first(small_training("busy", 1, 4000), here);
  ASSERT_TRUE(reaches_step(scratch.path() / "runs" / "busy", 2)) << first.err();
  const auto second = larmor_program({"train", "busy"}, here);
  EXPECT_EQ(second.status, 4) << second.err;
  EXPECT_THAT(second.err, HasSubstr(text(first.id())));
  first.send(SIGTERM);
  EXPECT_EQ(first.wait().status, stopped);
}

INSTANTIATE_TEST_SUITE_P(Ranks, StopAndResume, ::testing::Values(1, 2));

}  // namespace
}  // namespace larmor::testing
