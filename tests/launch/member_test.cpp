#include "larmor/launch/member.h"

#include <algorithm>
#include <mutex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/text.h"
#include "larmor/launch/hosts/remote_host.h"

#include "tests/launch/support/acting.h"
#include "tests/launch/support/agents.h"

namespace larmor {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr milliseconds long_time(60'000);

/// The leader's view of a member that serves in a thread, and whose ranks are scripts.
class Members : public ::testing::Test {
 protected:
  explicit Members(milliseconds silence = long_time, milliseconds pause = long_time)
      : member_(
            std::move(ends_.there), [this](GroupStart& start) { complete(start); }, silence, pause),
        host_(leaders_end(std::move(ends_.here)), "far", long_time) {}

  RemoteHost& host() { return host_; }
  /// Hangs up without a word.
  void cut() { host_ = RemoteHost(leaders_end(Descriptor()), "nobody", long_time); }
  std::string outcome() { return member_.outcome(); }
  /// The member's own words from now on.
  void own_words(const std::string& script, const std::filesystem::path& log_folder) {
    const std::lock_guard lock(mutex_);
    own_ = script_start({}, script, log_folder);
  }
  void start(const std::vector<int>& ranks, const std::string& script) {
    own_words(script, scratch_.path());
    host_.start(script_start(ranks, "echo the leader\'s words; exit 99", "/nowhere"));
  }
  void complete(GroupStart& start) {
    const std::lock_guard lock(mutex_);
    EXPECT_TRUE(start.arguments.empty() && start.environment.empty() && start.log_folder.empty() &&
                start.program.empty() && !start.store_key);
    start.program = own_.program;
    start.arguments = own_.arguments;
    start.log_folder = own_.log_folder;
  }
  /// The endings of so many ranks, when they have come.
  std::vector<RankEnding> endings(size_t count) {
    std::vector<RankEnding> all;
    EXPECT_TRUE(happens([&] {
      host_.beat();
      for (auto& ending : host_.take_endings()) all.push_back(std::move(ending));
      return all.size() >= count;
    }));
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.rank < b.rank; });
    return all;
  }
  std::filesystem::path log(int rank) const { return scratch_.path() / text("rank-", rank, ".log"); }
  /// The process of a rank that says "ready" and its number.
  int process_of(int rank) const {
    const std::string words = wait_for_words(log(rank), "ready ");
    return words.empty() ? -1 : std::stoi(words.substr(6));
  }

 private:
  ScratchFolder scratch_;
  std::mutex mutex_;
  GroupStart own_;
  Ends ends_ = connect_ends();
  MemberThread member_;
  RemoteHost host_;
};

constexpr const char* sleeps = "echo ready $$; exec sleep 600";

TEST_F(Members, StartRanksAndReportHowTheyEnd) {
  start({2, 3}, "echo I am $LARMOR_RANK of $LARMOR_WORLD_SIZE, $LARMOR_LOCAL_RANK here; exit $LARMOR_RANK");
  const auto all = endings(2);
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(all[0].rank, 2);
  EXPECT_EQ(all[0].ending.status, 2);
  EXPECT_EQ(all[0].last_lines, "(on far)\nI am 2 of 4, 0 here");
  EXPECT_EQ(all[1].last_lines, "(on far)\nI am 3 of 4, 1 here");
  host().dismiss(0, "");
  EXPECT_EQ(outcome(), "dismissed with 0: ");
}

TEST_F(Members, ReportWhatTheirRanksDo) {
  start({0}, sleeps);
  EXPECT_TRUE(happens([&] {
    host().take_endings();
    return host().statuses().size() == 1 && !host().process_state(0).empty();
  }));
  EXPECT_EQ(host().statuses().at(0).phase, Phase::starting);
  host().dismiss(0, "");
  outcome();
}

TEST_F(Members, PassSignalsBothWays) {
  start({0}, "trap 'exit 75' TERM; echo ready $$; while true; do sleep 0.02; done");
  process_of(0);
  kill(getpid(), SIGUSR1);  // as a scheduler would, to the member's process
  EXPECT_TRUE(happens([&] {
    host().take_endings();
    return host().take_signal() == SIGUSR1;
  }));
  host().send(0, SIGTERM);
  const auto all = endings(1);
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].ending.status, 75);
  host().dismiss(75, "stopped");
  EXPECT_EQ(outcome(), "dismissed with 75: stopped");
}

TEST_F(Members, StartAgainAsOftenAsTheyAreTold) {
  for (int start_number = 0; start_number < 3; ++start_number) {
    start({0, 1}, "kill -KILL $$");
    for (const auto& ending : endings(2)) EXPECT_EQ(ending.ending.signal, SIGKILL);
  }
  host().dismiss(9, "no progress");
  EXPECT_EQ(outcome(), "dismissed with 9: no progress");
}

TEST_F(Members, SayWhyTheyCannotStartRanks) {
  own_words("", "/dev/null/logs");
  host().start(script_start({0, 1}, "", ""));
  auto all = endings(2);
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(all[1].ending.status, 4);
  EXPECT_THAT(all[1].evidence, AllOf(StartsWith("on "), HasSubstr("cannot create the folder /dev/null")));
  start({0}, "exit 0");
  EXPECT_TRUE(endings(1).at(0).ending.ok()) << "the next start has to work";
  host().dismiss(0, "");
  outcome();
}

TEST_F(Members, EndTheirRanksWhenTheConnectionIsCut) {
  start({0, 1}, sleeps);
  const int first = process_of(0), second = process_of(1);
  cut();
  EXPECT_THAT(outcome(), AllOf(StartsWith("8: the leader of the group was lost: the connection was closed"),
                               HasSubstr("the ranks of this host were ended")));
  EXPECT_NE(kill(first, 0), 0) << "ended and reaped by then";
  EXPECT_NE(kill(second, 0), 0);
}

TEST_F(Members, EndWhatTheirRanksHadStartedToo) {
  start({0}, "sleep 600 & echo ready $!; wait");
  const int child = process_of(0);
  cut();
  EXPECT_THAT(outcome(), StartsWith("8: "));
  EXPECT_TRUE(ends_within(child, 2));
}

TEST_F(Members, EndRanksThatAreLeftWhenTheGroupIsOver) {
  start({0}, sleeps);
  const int process = process_of(0);
  host().dismiss(1, "the leader had to give up");
  EXPECT_EQ(outcome(), "dismissed with 1: the leader had to give up");
  EXPECT_NE(kill(process, 0), 0);
}

TEST_F(Members, EndWhenTheLeaderSpeaksNonsense) {
  auto [here, there] = connect_ends();
  cut();
  outcome();
  MemberThread member(std::move(there), [](GroupStart&) {}, long_time, long_time);
  Channel leader = leaders_end(std::move(here));
  leader.send({{"start", "now"}});
  EXPECT_THAT(member.outcome(), StartsWith("8: the leader of the group was lost: it sent something that is "
                                           "no message of larmor"));
}

TEST_F(Members, TakeNothingToRunFromTheLeader) {
  auto [here, there] = connect_ends();
  cut();
  outcome();
  const ScratchFolder elsewhere;
  MemberThread member(
      std::move(there),
      [&](GroupStart& start) {
        start.program = "/bin/sh";
        start.arguments = {"-c", "echo my own words"};
        start.log_folder = elsewhere.path() / "own";
      },
      long_time, long_time);
  Channel leader = leaders_end(std::move(here));
  Json start = to_json(script_start({0}, "", ""));
  start["program"] = "/bin/sh";
  start["arguments"] = {"-c", text("touch ", (elsewhere.path() / "taken").string())};
  start["environment"] = {{"LD_PRELOAD", "/tmp/taken.so"}};
  start["log_folder"] = (elsewhere.path() / "theirs").string();
  Json message;
  message["start"] = start;
  leader.send(message);
  EXPECT_TRUE(happens([&] { return leader.receive_within(milliseconds(100)).contains("ended"); }));
  leader.send({{"over", {{"status", 0}, {"message", ""}}}});
  EXPECT_EQ(member.outcome(), "dismissed with 0: ");
  EXPECT_EQ(read_text(elsewhere.path() / "own" / "rank-0.log"), "my own words\n");
  EXPECT_FALSE(std::filesystem::exists(elsewhere.path() / "taken"));
  EXPECT_FALSE(std::filesystem::exists(elsewhere.path() / "theirs"));
}

TEST_F(Members, RefuseAStartOfSomethingElse) {
  auto [here, there] = connect_ends();
  cut();
  outcome();
  MemberThread member(
      std::move(there), [](GroupStart&) { fail(Exit::usage, "something else"); }, long_time, long_time);
  RemoteHost host(leaders_end(std::move(here)), "far", long_time);
  host.start(script_start({0}, "", ""));
  std::vector<RankEnding> endings;
  EXPECT_TRUE(happens([&] {
    for (auto& ending : host.take_endings()) endings.push_back(std::move(ending));
    return !endings.empty();
  }));
  EXPECT_EQ(endings.at(0).ending.status, 2);
  EXPECT_THAT(endings.at(0).evidence, HasSubstr("something else"));
  host.dismiss(2, "");
  member.outcome();
}

/// Those that hear nothing for 0.6 s while ranks run, or for 1.6 s between two starts.
class ImpatientMembers : public Members {
 protected:
  ImpatientMembers() : Members(milliseconds(600), milliseconds(1600)) {}
};

TEST_F(ImpatientMembers, EndTheirRanksWhenTheLeaderIsSilent) {
  start({0}, sleeps);
  const int process = process_of(0);
  EXPECT_THAT(outcome(), StartsWith("8: the leader of the group was lost: it has been silent for 600 ms"));
  EXPECT_NE(kill(process, 0), 0);
}

TEST_F(ImpatientMembers, StayAsLongAsTheLeaderBeats) {
  start({0}, "sleep 1.2; exit 3");
  const auto all = endings(1);
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].ending.status, 3);
  host().dismiss(3, "");
  EXPECT_EQ(outcome(), "dismissed with 3: ");
}

TEST_F(ImpatientMembers, WaitLongerBetweenTwoStarts) {
  start({0}, "exit 0");
  endings(1);
  std::this_thread::sleep_for(milliseconds(900));
  start({0}, "exit 5");
  const auto all = endings(1);
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].ending.status, 5);
  EXPECT_THAT(outcome(), StartsWith("8: the leader of the group was lost: it has been silent for 1.6 s"));
}

}  // namespace
}  // namespace larmor
