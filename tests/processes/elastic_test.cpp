// A run that goes on by itself: after a rank, or an agent with all its ranks, is gone.
#include <csignal>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"

#include "tests/processes/support/small_training.h"
#include "tests/processes/support/trained_state.h"

namespace larmor::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int rank_lost = 8;

class Elastic : public ::testing::Test {
 protected:
  std::filesystem::path run(const std::string& name) const { return scratch_.path() / "runs" / name; }
  ProgramOptions here() const { return {.folder = scratch_.path()}; }

  static std::vector<std::string> joined(std::vector<std::string> words,
                                         const std::vector<std::string>& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  bool has_saved(const std::string& name) const {
    return becomes_true([&] { return std::filesystem::exists(run(name) / "checkpoints" / "last"); }, 60);
  }

  /// The agent `node` of two on this host.
  static std::vector<std::string> of_two(std::vector<std::string> words, int node, int port) {
    return joined(std::move(words), {"--nnodes", "2", "--node-rank", text(node), "--master-addr", "127.0.0.1",
                                     "--master-port", text(port)});
  }

  /// The process of that rank, which has begun that generation.
  int process_of_rank(const Running& agent, int rank) const {
    for (const int child : children_of(agent.id())) {
      // A child that has ended since it was listed has no environment any more.
      std::ifstream file(text("/proc/", child, "/environ"), std::ios::binary);
      for (std::string entry; std::getline(file, entry, '\0');) {
        if (entry == text("LARMOR_RANK=", rank)) return child;
      }
    }
    return 0;
  }

  ScratchFolder scratch_;
};

TEST_F(Elastic, ARankThatIsKilledIsStartedAgainAndTheRunEndsInTheSameBits) {
  Running training(joined(small_training("killed", 2), {"--max-restarts", "1"}), here());
  ASSERT_TRUE(reaches_step(run("killed"), 7)) << training.err();
  ASSERT_EQ(kill(process_of_rank(training, 1), SIGKILL), 0);
  const auto end = training.wait();
  ASSERT_EQ(end.status, 0) << end.err;
  EXPECT_THAT(end.err, AllOf(HasSubstr("rank 1 was killed by SIGKILL"), HasSubstr("restart 1 of 1")));
  EXPECT_THAT(generations_of(run("killed")), ElementsAre(0, 1));
  ASSERT_EQ(larmor_program(small_training("whole", 2), here()).status, 0);
  EXPECT_EQ(trained_state(run("killed")), trained_state(run("whole")));
}

TEST_F(Elastic, WithoutAWordAStartIsWorthAnotherWhereItHasSaved) {
  Running training(small_training("usual", 2), here());
  ASSERT_TRUE(has_saved("usual")) << training.err();
  ASSERT_EQ(kill(process_of_rank(training, 1), SIGKILL), 0);
  const auto end = training.wait();
  ASSERT_EQ(end.status, 0) << end.err;
  EXPECT_THAT(end.err, HasSubstr("restart 1 of 3"));
  EXPECT_THAT(generations_of(run("usual")), ElementsAre(0, 1));
}

TEST_F(Elastic, WithoutAWordAFaultThatComesAgainEndsTheRun) {
  Running training(with(small_training("again", 2), "checkpoint.every", "12st"), here());
  ASSERT_TRUE(has_saved("again")) << training.err();
  const int first = process_of_rank(training, 1);
  ASSERT_EQ(kill(first, SIGKILL), 0);
  ASSERT_TRUE(becomes_true(
      [&] {
        const int second = process_of_rank(training, 1);
        return second != 0 && second != first && kill(second, SIGKILL) == 0;
      },
      30))
      << training.err();
  const auto end = training.wait();
  EXPECT_EQ(end.status, rank_lost) << end.err;
  EXPECT_THAT(end.err, AllOf(HasSubstr("restart 1 of 3"), HasSubstr("(after 1 restart)")));
}

TEST_F(Elastic, WithoutAWordAndWithoutASaveTheFirstFaultEndsTheRun) {
  auto fault = here();
  fault.environment = {{"LARMOR_FAULT", "rank=1 phase=computing step=2 do=kill"}};
  const auto end = larmor_program(with(small_training("early", 2), "checkpoint.every", "1000st"), fault);
  EXPECT_EQ(end.status, rank_lost) << end.err;
  EXPECT_THAT(end.err, Not(HasSubstr("restart")));
}

TEST_F(Elastic, ARankThatFailsTwiceWithoutProgressIsLeftOut) {
  const auto words = joined(with(small_training("smaller", 2), "checkpoint.every", "1000st"),
                            {"--max-restarts", "2", "--min-ranks", "1"});
  Running training(words, here());
  int killed = 0;
  for (int time = 0; time < 2; ++time) {
    ASSERT_TRUE(becomes_true(
        [&] {
          const int process = process_of_rank(training, 1);
          if (process == 0 || process == killed) return false;
          killed = process;
          return kill(process, SIGKILL) == 0;
        },
        30))
        << training.err();
  }
  const auto end = training.wait();
  ASSERT_EQ(end.status, 0) << end.err;
  EXPECT_THAT(end.err, AllOf(HasSubstr("restart 2 of 2"), HasSubstr("with parallel.ranks=1")));
  EXPECT_EQ(newest_step(run("smaller")), small_steps);
}

TEST_F(Elastic, TwoAgentsOfOursTrainAsOneDoes) {
  constexpr int port = 29611;
  Running second(of_two(small_training("two", 2), 1, port), here());
  Running first(of_two(small_training("two", 2), 0, port), here());
  EXPECT_EQ(first.wait().status, 0) << first.err();
  EXPECT_EQ(second.wait().status, 0) << second.err();
  ASSERT_EQ(larmor_program(small_training("one", 2), here()).status, 0);
  EXPECT_EQ(trained_state(run("two")), trained_state(run("one")));
}

TEST_F(Elastic, ALostAgentIsNamedAndTheRestGoesOnWithoutItWhereThatIsAllowed) {
  constexpr int port = 29612;
  const auto words = joined(small_training("left", 2), {"--max-restarts", "1", "--min-ranks", "1"});
  Running first(of_two(words, 0, port), here());
  Running second(of_two(words, 1, port), here());
  ASSERT_TRUE(reaches_step(run("left"), 7)) << first.err();
  second.send(SIGKILL);
  const auto end = first.wait();
  EXPECT_EQ(end.status, 0) << end.err;
  EXPECT_THAT(end.err, AllOf(HasSubstr("rank 1 was lost"), HasSubstr("parallel.ranks=1")));
  EXPECT_EQ(newest_step(run("left")), small_steps);
}

TEST_F(Elastic, WithTheLeaderAllRanksEnd) {
  constexpr int port = 29613;
  Running first(of_two(small_training("headless", 2, 4000), 0, port), here());
  Running second(of_two(small_training("headless", 2, 4000), 1, port), here());
  ASSERT_TRUE(reaches_step(run("headless"), 7)) << first.err();
  const auto ranks = children_of(second.id());
  first.send(SIGKILL);
  constexpr double seconds_to_notice = 5;
  ASSERT_TRUE(second.ends_within(seconds_to_notice));
  const auto end = second.wait();
  EXPECT_EQ(end.status, rank_lost) << end.err;
  EXPECT_THAT(end.err, HasSubstr("the leader of the group was lost"));
  for (const int rank : ranks) EXPECT_TRUE(becomes_true([&] { return is_over(rank); }, 2));
}

}  // namespace
}  // namespace larmor::testing
