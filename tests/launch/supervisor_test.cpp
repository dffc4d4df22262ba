// Its rules over hosts that the test plays; real processes are in launcher_test.cpp.
#include "larmor/launch/supervisor.h"

#include <deque>
#include <set>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "larmor/base/clock.h"
#include "larmor/base/files/file.h"
#include "larmor/base/text.h"
#include "larmor/launch/stop_signal.h"

namespace larmor {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;

RankStatus busy(double quiet = 0) {
  RankStatus status;
  status.phase = Phase::computing;
  status.step = 9;
  status.quiet = quiet;
  return status;
}

/// A host whose ranks do as `on_signal` says.
class PlayedHost final : public Host {
 public:
  PlayedHost(std::string name, const std::vector<int>& ranks) : name_(std::move(name)) {
    for (const int rank : ranks) ranks_[rank] = busy();
  }

  const std::string& name() const override { return name_; }
  void start(const GroupStart&) override {}
  void send(int rank, int signal) override {
    sent.emplace_back(rank, signal);
    if (!ranks_.contains(rank) || is_lost_) return;
    if (signal == SIGKILL) end(rank, {0, SIGKILL});
    if (signal == stops_at) end(rank, ending_when_stopped);
  }
  std::vector<int> descriptors() const override { return {}; }
  std::vector<RankEnding> take_endings() override { return std::exchange(endings_, {}); }
  int take_signal() override {
    if (signals.empty()) return 0;
    const int signal = signals.front();
    signals.pop_front();
    return signal;
  }
  std::map<int, RankStatus> statuses() override { return reports ? ranks_ : std::map<int, RankStatus>(); }
  std::string process_state(int rank) override {
    return asleep.contains(rank) ? "sleeping" : "stopped by a signal";
  }
  void beat() override { ++beats; }
  bool is_lost() const override { return is_lost_; }

  void end(int rank, Ending ending) {
    ranks_.erase(rank);
    endings_.push_back({.rank = rank, .ending = ending, .phase = Phase::computing, .step = 9});
  }
  /// Of all its ranks.
  void end_process(Ending ending) {
    endings_.push_back({.rank = ranks_.begin()->first,
                        .ranks = static_cast<int>(ranks_.size()),
                        .ending = ending,
                        .phase = Phase::computing,
                        .step = 9});
    ranks_.clear();
  }
  void lose() {
    is_lost_ = true;
    for (const auto& [rank, status] : ranks_)
      endings_.push_back({.rank = rank, .lost = true, .evidence = text("its host ", name_, " was lost")});
    ranks_.clear();
  }
  void set(int rank, const RankStatus& status) { ranks_[rank] = status; }

  std::deque<int> signals;
  std::vector<std::pair<int, int>> sent;
  int stops_at = SIGTERM;
  Ending ending_when_stopped = {75, 0};
  bool reports = true;
  std::set<int> asleep;
  int beats = 0;

 private:
  std::string name_;
  std::map<int, RankStatus> ranks_;
  std::vector<RankEnding> endings_;
  bool is_lost_ = false;
};

/// Two hosts of two ranks each.
class Supervision : public ::testing::Test {
 protected:
  GroupEnding run() {
    LauncherLog log(log_file());
    return Supervisor({&near, &far}, {0, 0, 1, 1}, log, options).run();
  }
  std::filesystem::path log_file() const { return scratch_.path() / "launcher.log"; }
  std::filesystem::path hang_file() const { return scratch_.path() / "hang-0.txt"; }
  std::string log() const { return read_text(log_file()); }

  PlayedHost near{"node-0", {0, 1}}, far{"node-1", {2, 3}};
  SupervisorOptions options;

 private:
  ScratchFolder scratch_;
};

TEST_F(Supervision, EndsWhenAllRanksAreDone) {
  for (const int rank : {0, 1}) near.end(rank, {0, 0});
  for (const int rank : {2, 3}) far.end(rank, {0, 0});
  const GroupEnding ending = run();
  EXPECT_EQ(ending.exit, Exit::done);
  EXPECT_FALSE(ending.was_asked);
  EXPECT_FALSE(ending.has_lost_hosts);
}

TEST_F(Supervision, CountsASignalOnceThoughEveryHostWasSentIt) {
  near.signals = {SIGTERM};
  far.signals = {SIGTERM};
  const GroupEnding ending = run();
  EXPECT_EQ(ending.exit, Exit::stopped);
  EXPECT_EQ(ending.raw_status, 75);
  EXPECT_TRUE(ending.was_asked);
  EXPECT_THAT(near.sent, ElementsAre(Pair(0, SIGTERM), Pair(1, SIGTERM)));
  EXPECT_THAT(far.sent, ElementsAre(Pair(2, SIGTERM), Pair(3, SIGTERM)));
}

TEST_F(Supervision, EndsAllRanksAtASecondSignalOfOneHost) {
  near.stops_at = far.stops_at = 0;
  near.signals = {SIGUSR1};
  far.signals = {SIGTERM, SIGTERM};
  const GroupEnding ending = run();
  EXPECT_EQ(ending.exit, Exit::stopped);
  EXPECT_EQ(ending.raw_status, 128 + SIGTERM);
  EXPECT_FALSE(ending.is_worth_a_restart());
  EXPECT_THAT(near.sent, Contains(Pair(0, SIGKILL)));
}

TEST_F(Supervision, AsksTheRanksOfAllHostsToEndWhenOneFails) {
  far.end(3, {0, SIGSEGV});
  const GroupEnding ending = run();
  EXPECT_EQ(ending.exit, Exit::rank_lost);
  EXPECT_EQ(ending.first_rank, 3);
  EXPECT_EQ(ending.message, "rank 3 was killed by SIGSEGV while computing step 9");
  EXPECT_TRUE(ending.is_worth_a_restart());
  EXPECT_THAT(near.sent, ElementsAre(Pair(0, SIGTERM), Pair(1, SIGTERM)));
  EXPECT_THAT(far.sent, ElementsAre(Pair(2, SIGTERM)));
}

TEST_F(Supervision, TellsRanksThatGoOnThatTheirCollectivesAreInVain) {
  near.stops_at = far.stops_at = lost_peer_signal();
  near.ending_when_stopped = far.ending_when_stopped = {8, 0};
  far.end(3, {0, SIGSEGV});
  const GroupEnding ending = run();
  EXPECT_EQ(ending.exit, Exit::rank_lost);
  EXPECT_EQ(ending.message, "rank 3 was killed by SIGSEGV while computing step 9");
  EXPECT_THAT(near.sent, ElementsAre(Pair(0, SIGTERM), Pair(1, SIGTERM), Pair(0, lost_peer_signal()),
                                     Pair(1, lost_peer_signal())));
  EXPECT_THAT(far.sent, ElementsAre(Pair(2, SIGTERM), Pair(2, lost_peer_signal())));
}

TEST_F(Supervision, KillsRanksThatWereOnlyStartingLongBeforeTheGraceIsOver) {
  options.grace_seconds = 60;
  near.stops_at = 0;
  for (const int rank : {0, 1}) near.set(rank, RankStatus());
  far.end(3, {1, 0});
  const SystemClock clock;
  const double began = clock.steady_seconds();
  const GroupEnding ending = run();
  EXPECT_LT(clock.steady_seconds() - began, 20);
  EXPECT_EQ(ending.message, "rank 3 ended with exit status 1 while computing step 9");
  EXPECT_THAT(near.sent, AllOf(Contains(Pair(0, SIGKILL)), Contains(Pair(1, SIGKILL))));
}

TEST_F(Supervision, GivesAStartingRankTheWholeGraceWhereOthersHaveOnlyLostAPeer) {
  options.grace_seconds = 4;
  near.stops_at = 0;
  near.set(0, RankStatus());
  near.end(1, {8, 0});
  far.end(3, {8, 0});
  const SystemClock clock;
  const double began = clock.steady_seconds();
  run();
  EXPECT_GE(clock.steady_seconds() - began, 4);
}

TEST_F(Supervision, TakesTheEndOfAProcessForThatOfAllItsRanks) {
  PlayedHost alone("node-0", {0, 1});
  alone.end_process({0, SIGSEGV});
  LauncherLog log(log_file());
  const GroupEnding ending = Supervisor({&alone}, {0, 0}, log, options).run();
  EXPECT_EQ(ending.exit, Exit::rank_lost);
  EXPECT_EQ(ending.message, "the process of ranks 0 to 1 was killed by SIGSEGV while computing step 9");
  EXPECT_THAT(alone.sent, IsEmpty()) << "nobody is left to be asked";
  EXPECT_THAT(read_text(log_file()), Not(HasSubstr("asking the other ranks to end")));
}

TEST_F(Supervision, NamesAHostThatIsLost) {
  far.lose();
  const GroupEnding ending = run();
  EXPECT_EQ(ending.exit, Exit::rank_lost);
  EXPECT_EQ(ending.first_rank, 2);
  EXPECT_THAT(ending.message, HasSubstr("its host node-1 was lost"));
  EXPECT_TRUE(ending.has_lost_hosts);
}

TEST_F(Supervision, RestartsNothingWhenARankFailsWhileTheGroupStops) {
  far.ending_when_stopped = {1, 0};
  near.signals = {SIGTERM};
  const GroupEnding ending = run();
  EXPECT_EQ(ending.exit, Exit::unexpected);
  EXPECT_EQ(ending.first_rank, 2);
  EXPECT_FALSE(ending.is_worth_a_restart());
}

TEST_F(Supervision, EndsAHangingGroupStepByStep) {
  options.hang.fixed = 1;
  options.hang_file = hang_file();
  far.set(2, busy(5));
  const GroupEnding ending = run();
  EXPECT_EQ(ending.exit, Exit::rank_lost);
  EXPECT_EQ(ending.raw_status, 8);
  EXPECT_EQ(ending.first_rank, 2);
  EXPECT_THAT(ending.message, AllOf(HasSubstr("rank 2 hangs: no heartbeat for 5"),
                                    HasSubstr("its process is stopped by a signal")));
  EXPECT_THAT(ending.last_lines, HasSubstr(hang_file().string()));
  EXPECT_THAT(read_text(hang_file()), HasSubstr("rank 2 hangs"));
  EXPECT_THAT(near.sent, ElementsAre(Pair(0, SIGUSR2), Pair(1, SIGUSR2), Pair(0, SIGCONT), Pair(1, SIGCONT),
                                     Pair(0, SIGKILL), Pair(1, SIGKILL)));
  EXPECT_THAT(log(), HasSubstr("ending all ranks of the hanging group"));
}

TEST_F(Supervision, BlamesTheRankThatStandsStillWhereAnotherThatWaitsForItWasQuietFirst) {
  options.hang.fixed = 1;
  near.set(1, busy(0.9));
  near.asleep = {0};
  far.set(2, busy(5));
  far.asleep = {2, 3};
  const GroupEnding ending = run();
  EXPECT_EQ(ending.first_rank, 1);
  EXPECT_THAT(ending.message, HasSubstr("rank 1 hangs: no heartbeat for 0.9 s (limit 1.0 s) while computing "
                                        "step 9; its process is stopped by a signal"));
}

TEST_F(Supervision, TakesAHostThatHasNotReportedYetForNoHang) {
  options.hang.fixed = 1;
  near.set(0, busy(5));
  far.reports = false;
  far.signals = {};
  near.signals = {SIGTERM};
  EXPECT_EQ(run().exit, Exit::stopped);
}

TEST_F(Supervision, BeatsForItsHosts) {
  near.signals = {SIGTERM};
  run();
  EXPECT_GE(near.beats, 1);
  EXPECT_GE(far.beats, 1);
}

}  // namespace
}  // namespace larmor
