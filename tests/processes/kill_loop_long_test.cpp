// Twenty kills at any time, twenty of the launcher, twenty while a checkpoint is being written, and fifty of
// a run that starts again by itself.
#include <csignal>
#include <iostream>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"

#include "tests/processes/support/kill_loop.h"
#include "tests/processes/support/nifti_bytes.h"
#include "tests/processes/support/small_training.h"
#include "tests/processes/support/trained_state.h"

namespace larmor::testing {
namespace {

namespace fs = std::filesystem;

constexpr int kills = 20, steps = 400;

class SmallKillLoop : public KillLoop {
 protected:
  static std::vector<std::string> words(const std::string& name) {
    return with(small_training(name, 2, steps), "checkpoint.every", "2st");
  }

  /// Starts the run or goes on with it, with its words or by its name.
  Running going_on(const std::string& name) {
    const bool by_name = fs::exists(run(name) / "config.yaml") && number_to(1) == 1;
    return Running(by_name ? std::vector<std::string>{"train", name} : words(name), here());
  }

  void expect_equal_to_a_run_left_alone(const std::string& name) {
    expect_equal_to_a_run_left_alone(name, words("whole"), steps);
  }
  /// `whole` are the words of that run, whose name is "whole".
  void expect_equal_to_a_run_left_alone(const std::string& name, const std::vector<std::string>& whole_words,
                                        int whole_steps) {
    const auto last = larmor_program({"train", name}, here());
    ASSERT_EQ(last.status, 0) << last.err;
    const auto whole = larmor_program(whole_words, here());
    ASSERT_EQ(whole.status, 0) << whole.err;
    const auto found = trained_state(run(name)), expected = trained_state(run("whole"));
    EXPECT_EQ(found.files, expected.files);
    EXPECT_EQ(expected.steps.size(), static_cast<size_t>(whole_steps));
    EXPECT_EQ(found.steps, expected.steps);
    EXPECT_EQ(checkpoint_names(run(name)), checkpoint_names(run("whole")));
    EXPECT_FALSE(has_half_a_checkpoint(name));
  }
};

TEST_F(SmallKillLoop, ARunKilledTwentyTimesAtAnyTimeEndsInTheSameBits) {
  for (int i = 0; i < kills; ++i) {
    SCOPED_TRACE(text("kill ", i));
    auto training = going_on("killed");
    if (number_to(3) == 0) {  // while it starts, perhaps
      ASSERT_FALSE(training.ends_within(between(0.01, 1.5)));
    } else {
      ASSERT_TRUE(reaches_step(run("killed"), newest_step(run("killed")) + number_to(12)));
      ASSERT_FALSE(training.ends_within(between(0, 0.1)));
    }
    ASSERT_TRUE(kill_one_of(training)) << "the run was over before";
    if (HasFailure()) return;
  }
  expect_equal_to_a_run_left_alone("killed");
}

TEST_F(SmallKillLoop, ALauncherKilledTwentyTimesLeavesNoRankAndTheNextStartGoesOn) {
  size_t ranks_seen = 0;
  for (int i = 0; i < kills; ++i) {
    SCOPED_TRACE(text("kill ", i));
    const int64_t before = newest_step(run("killed"));
    auto training = going_on("killed");
    if (i % 4 == 0) {  // while its ranks start
      ASSERT_TRUE(becomes_true([&] { return children_of(training.id()).size() == 2; }, 60));
      ASSERT_FALSE(training.ends_within(between(0, 0.3)));
    } else {
      ASSERT_TRUE(reaches_step(run("killed"), before + 1 + number_to(12))) << "it does not go on";
    }
    ranks_seen += children_of(training.id()).size();
    ASSERT_TRUE(kill_and_look(training, training.id())) << "the run was over before";
    if (HasFailure()) return;
  }
  EXPECT_EQ(ranks_seen, 2U * kills);
  expect_equal_to_a_run_left_alone("killed");
}

TEST_F(SmallKillLoop, TheNewestAnnouncedCheckpointIsGoodAfterEveryKillInASave) {
  int halves = 0;
  for (int i = 0; i < kills; ++i) {
    SCOPED_TRACE(text("kill ", i));
    auto training = going_on("saving");
    const auto first = newest_step(run("saving")) + 4 + number_to(6);
    ASSERT_TRUE(reaches_step(run("saving"), first));
    ASSERT_TRUE(becomes_true([&] { return has_half_a_checkpoint("saving"); }, 30)) << training.err();
    ASSERT_FALSE(training.ends_within(between(0, 0.004)));
    ASSERT_TRUE(kill_one_of(training)) << "the run was over before";
    if (HasFailure()) return;
    halves += has_half_a_checkpoint("saving") ? 1 : 0;
    const auto verified = larmor_program({"checkpoint", "verify", "saving", "--json"}, here());
    ASSERT_EQ(verified.status, 0) << verified.out << verified.err;
    ASSERT_TRUE(announced_is_good(verified.json(), run("saving"))) << verified.out;
  }
  std::cout << halves << " of " << kills << " kills left half a checkpoint behind\n";
  EXPECT_GT(halves, 0);
  expect_equal_to_a_run_left_alone("saving");
}

/// SmartCache over files, an average of the weights, accumulation, a shard of the optimizer on each rank.
class RestartLoop : public SmallKillLoop {
 protected:
  static constexpr int restart_kills = 50, restart_steps = 1000;

  void SetUp() override { put_heads(folder() / "heads", 12); }

  static std::vector<std::string> smart_words(const std::string& name) {
    auto all = with(small_training(name, 2, restart_steps), "checkpoint.every", "2st");
    std::erase_if(all, [](const std::string& word) { return word.starts_with("data.phantom"); });
    for (const char* const more : {"data.kind=nifti", "data.folder=heads", "data.cache_folder=store",
                                   "data.cache=smart", "parallel.strategy=zero1"})
      all.emplace_back(more);
    return all;
  }
  std::unique_ptr<Running> restarting(const std::string& name) const {
    auto all = smart_words(name);
    all.insert(all.end(), {"--max-restarts", "1000"});
    return std::make_unique<Running>(all, here());
  }

  /// Ends a rank by a signal, or now and then the launcher; false where there was nothing left to kill.
  bool kill_something(const Running& training) {
    const auto ranks = children_of(training.id());
    if (number_to(9) == 0) return kill(training.id(), SIGKILL) == 0;
    if (ranks.empty()) return false;
    constexpr int signals[] = {SIGKILL, SIGSEGV};
    return kill(ranks[static_cast<size_t>(number_to(static_cast<int>(ranks.size()) - 1))],
                signals[number_to(1)]) == 0;
  }
};

TEST_F(RestartLoop, ARunKilledFiftyTimesThatStartsAgainByItselfEndsInTheSameBits) {
  auto training = restarting("killed");
  int starts = 1;
  for (int done = 0; done < restart_kills;) {
    SCOPED_TRACE(text("kill ", done));
    const bool at_any_time = number_to(3) == 0;  // while it starts, perhaps
    if (!at_any_time) {
      const auto next = newest_step(run("killed")) + number_to(12);
      ASSERT_TRUE(
          becomes_true([&] { return newest_step(run("killed")) >= next || training->ends_within(0); }, 300))
          << training->err();
    }
    const bool over = training->ends_within(between(0.01, at_any_time ? 1.5 : 0.1));
    if (!over && kill_something(*training)) ++done;
    // The launcher was killed, or has given up: too many kills before anything was saved.
    if (over || training->ends_within(0.3)) {
      const auto end = training->wait();
      ASSERT_THAT(end.status, ::testing::AnyOf(128 + SIGKILL, 8, 9)) << end.err;
      training = restarting("killed");
      ++starts;
    }
  }
  training->send(SIGTERM);
  const auto end = training->wait();
  ASSERT_THAT(end.status, ::testing::AnyOf(75, 128 + SIGTERM, 0)) << end.err;
  std::cout << starts << " starts, " << generations_of(run("killed")).size() << " generations\n";
  EXPECT_GT(generations_of(run("killed")).size(), static_cast<size_t>(starts));
  expect_equal_to_a_run_left_alone("killed", smart_words("whole"), restart_steps);
}

}  // namespace
}  // namespace larmor::testing
