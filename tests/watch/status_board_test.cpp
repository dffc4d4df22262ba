#include "larmor/watch/status_board.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "larmor/base/clock.h"
#include "larmor/base/error.h"

namespace larmor {
namespace {

/// The environment of a rank that was handed this descriptor.
class HandedOver {
 public:
  explicit HandedOver(int descriptor) { setenv("LARMOR_STATUS_FD", std::to_string(descriptor).c_str(), 1); }
  ~HandedOver() { unsetenv("LARMOR_STATUS_FD"); }
  HandedOver(const HandedOver&) = delete;
  HandedOver& operator=(const HandedOver&) = delete;
};

TEST(StatusBoard, BeginsWithEveryRankStarting) {
  const StatusBoard board(3);
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(board.phase(rank), Phase::starting);
    EXPECT_EQ(board.step(rank), 0);
  }
}

TEST(StatusBoard, ShowsTheLauncherWhatARankSets) {
  const StatusBoard launcher(4);
  const HandedOver environment(dup(launcher.descriptor()));
  StatusBoard rank = StatusBoard::from_environment(2, 4);
  rank.set(2, Phase::saving, 1'000'000'000'000);
  EXPECT_EQ(launcher.phase(2), Phase::saving);
  EXPECT_EQ(launcher.step(2), 1'000'000'000'000);
  EXPECT_EQ(launcher.phase(1), Phase::starting);
  EXPECT_EQ(launcher.phase(3), Phase::starting);
}

TEST(StatusBoard, IsPrivateWhereNobodyWatches) {
  unsetenv("LARMOR_STATUS_FD");
  StatusBoard board = StatusBoard::from_environment(0, 1);
  EXPECT_EQ(board.descriptor(), -1);
  board.set(0, Phase::computing, 5);
  EXPECT_EQ(board.phase(0), Phase::computing);
  EXPECT_EQ(board.step(0), 5);
}

TEST(StatusBoard, RefusesADescriptorThatIsNoBoardForSoManyRanks) {
  const StatusBoard board(2);
  {
    const HandedOver environment(board.descriptor());
    EXPECT_THROW(StatusBoard::from_environment(0, 3), Error);
  }
  const int other = open("/dev/null", O_RDWR);
  {
    const HandedOver environment(other);
    EXPECT_THROW(StatusBoard::from_environment(0, 2), Error);
  }
  close(other);
  {
    const HandedOver environment(other);
    EXPECT_THROW(StatusBoard::from_environment(0, 2), Error);
  }
}

TEST(StatusBoard, MovesWithItsContent) {
  StatusBoard board(1);
  board.set(0, Phase::validating, 9);
  const StatusBoard moved(std::move(board));
  EXPECT_EQ(moved.phase(0), Phase::validating);
}

TEST(StatusBoard, NeverShowsThePhaseOfOneStepWithTheNumberOfAnother) {
  StatusBoard board(1);
  board.set(0, Phase::computing, 0);
  std::atomic<bool> done = false;
  std::jthread writer([&] {
    for (int64_t step = 0; step < 200'000; ++step) {
      board.set(0, step % 2 == 0 ? Phase::computing : Phase::communicating, step);
    }
    done = true;
  });
  // Two reads are two moments: what may be compared is one phase between two equal steps.
  while (!done) {
    const int64_t before = board.step(0);
    const Phase phase = board.phase(0);
    if (before == board.step(0)) {
      EXPECT_EQ(phase, before % 2 == 0 ? Phase::computing : Phase::communicating);
    }
  }
}

using std::chrono::milliseconds;

void pass(milliseconds time) { std::this_thread::sleep_for(time); }

Collective sum_of(int64_t number, int64_t elements = 8) {
  return {.group = 0,
          .number = number,
          .kind = CollectiveKind::all_reduce,
          .elements = elements,
          .element = ElementKind::float32,
          .finished = false};
}

TEST(StatusBoard, CountsHowLongARankHasBeenQuiet) {
  StatusBoard board(2);
  pass(milliseconds(20));
  EXPECT_GE(board.status(1).quiet, 0.02) << "from the beginning for a rank that never came";
  board.set(0, Phase::computing, 3);
  EXPECT_LT(board.status(0).quiet, board.status(1).quiet);
  pass(milliseconds(20));
  EXPECT_GE(board.status(0).quiet, 0.02);
}

TEST(StatusBoard, KeepsTheLongestSilenceOfEachPhase) {
  StatusBoard board(1);
  board.set(0, Phase::validating, 1);
  for (const int quiet : {10, 40, 10}) {
    pass(milliseconds(quiet));
    board.beat(0);
  }
  pass(milliseconds(25));
  board.set(0, Phase::computing, 1);
  const RankStatus status = board.status(0);
  EXPECT_GE(of(status.longest_quiet, Phase::validating), 0.04);
  EXPECT_LT(of(status.longest_quiet, Phase::validating), 0.085) << "not the sum";
  EXPECT_EQ(of(status.longest_quiet, Phase::computing), 0) << "the present silence does not count yet";
}

TEST(StatusBoard, HearsAHelpingThreadOnlyInThePhaseThatItHelps) {
  StatusBoard board(1);
  board.set(0, Phase::computing, 1);
  pass(milliseconds(20));
  board.beat(0, Phase::saving);
  EXPECT_GE(board.status(0).quiet, 0.02);
  board.beat(0, Phase::computing);
  EXPECT_LT(board.status(0).quiet, 0.02);
}

TEST(StatusBoard, TellsOwnTimeFromWaiting) {
  StatusBoard board(1);
  board.set(0, Phase::computing, 1);
  pass(milliseconds(20));
  const auto ticket = board.begin(0, sum_of(1));
  board.hold(0, StatusBoard::Waiter::training, ticket);
  pass(milliseconds(60));
  const RankStatus waiting = board.status(0);
  board.beat(0);
  EXPECT_GE(waiting.waiting, 0.06);
  EXPECT_TRUE(waiting.is_waiting());
  EXPECT_EQ(waiting.waits_for, sum_of(1));
  EXPECT_LT(of(waiting.seconds, Phase::computing), 0.06);
  board.release(0, StatusBoard::Waiter::training);
  board.set(0, Phase::communicating, 1);
  const RankStatus after = board.status(0);
  EXPECT_EQ(after.waiting, 0);
  EXPECT_FALSE(after.waits_for);
  EXPECT_GE(after.waited, 0.06);
  EXPECT_GE(after.longest_wait, 0.06);
  EXPECT_GE(of(after.seconds, Phase::computing), 0.02);
  EXPECT_LT(of(after.seconds, Phase::computing), 0.06);
  EXPECT_LT(of(after.longest_quiet, Phase::computing), 0.06) << "to wait for others is no silence";
}

TEST(StatusBoard, KnowsAThreadThatWaitsBesideTheTrainingOne) {
  StatusBoard board(1);
  board.set(0, Phase::computing, 1);
  const auto ticket = board.begin(0, sum_of(5));
  board.hold(0, StatusBoard::Waiter::background, ticket);
  pass(milliseconds(5));
  EXPECT_EQ(board.status(0).waiting, 0);
  EXPECT_GE(board.status(0).background_waiting, 0.005);
  EXPECT_FALSE(board.status(0).is_waiting()) << "training goes on beside it";
  board.set(0, Phase::saving, 1);
  EXPECT_TRUE(board.status(0).is_waiting()) << "training waits for the end of the save";
  EXPECT_EQ(board.status(0).waits_for, sum_of(5));
  board.release(0, StatusBoard::Waiter::background);
  EXPECT_FALSE(board.status(0).is_waiting());
  EXPECT_EQ(board.status(0).waited, 0);
}

TEST(StatusBoard, KeepsTheLastCollectivesOldestFirst) {
  StatusBoard board(1);
  StatusBoard::Ticket first;
  for (int64_t number = 1; number <= 100; ++number) {
    const auto ticket = board.begin(0, sum_of(number));
    if (number == 1) first = ticket;
    if (number % 2 == 0) board.finish(0, ticket);
  }
  board.finish(0, first);  // its place has long been another's
  const auto collectives = board.status(0).collectives;
  ASSERT_EQ(collectives.size(), most_collectives);
  for (size_t i = 0; i < collectives.size(); ++i) {
    Collective expected = sum_of(static_cast<int64_t>(i) + 37);
    expected.finished = expected.number % 2 == 0;
    EXPECT_EQ(collectives[i], expected);
  }
}

TEST(StatusBoard, KeepsEveryMemberOfACollective) {
  StatusBoard board(1);
  const Collective wide{.group = 65535,
                        .number = (int64_t{1} << 40) - 1,
                        .kind = CollectiveKind::duplicate,
                        .elements = (int64_t{1} << 52) - 1,
                        .element = ElementKind::other,
                        .finished = true};
  board.finish(0, board.begin(0, wide));
  EXPECT_EQ(board.status(0).collectives, std::vector<Collective>{wide});
}

void spin(double seconds) {
  const SystemClock clock;
  for (const double end = clock.steady_seconds() + seconds; clock.steady_seconds() < end;) {
  }
}

/// A rank that works and waits a few microseconds in turn, until it is told to end.
void write_restlessly(StatusBoard& board, const std::atomic<bool>& done) {
  for (int64_t step = 1; !done; ++step) {
    board.set(0, step % 2 == 0 ? Phase::computing : Phase::communicating, step);
    spin(10e-6);
    const auto ticket = board.begin(0, sum_of(step));
    board.hold(0, StatusBoard::Waiter::training, ticket);
    spin(10e-6);
    board.release(0, StatusBoard::Waiter::training);
  }
}

TEST(StatusBoard, ShowsTheValuesOfOneMomentWhileTheRankWrites) {
  constexpr double rounding = 1e-6;
  const SystemClock clock;
  StatusBoard board(1);
  const double earliest = clock.steady_seconds();
  board.set(0, Phase::computing, 0);
  const double latest = clock.steady_seconds();
  std::atomic<bool> done = false;
  std::jthread writer([&] { write_restlessly(board, done); });
  for (int64_t step = 0; step < 2000;) {
    const double before = clock.steady_seconds();
    const RankStatus status = board.status(0);
    step = status.step;
    const double after = clock.steady_seconds();
    EXPECT_EQ(status.phase, status.step % 2 == 0 ? Phase::computing : Phase::communicating);
    const double all = std::accumulate(status.seconds.begin(), status.seconds.end(), status.waited);
    EXPECT_GE(all, before - latest - rounding) << "a stretch of time that is in no sum";
    EXPECT_LE(all, after - earliest + rounding) << "a stretch of time that is in two sums";
  }
  done = true;
}

TEST(StatusBoard, LetsTwoThreadsBeginCollectives) {
  StatusBoard board(1);
  std::atomic<bool> done = false;
  std::vector<std::jthread> threads;
  for (int group = 0; group < 2; ++group) {
    threads.emplace_back([&board, &done, group] {
      for (int64_t number = 1; !done || number <= 1000; ++number) {
        Collective collective = sum_of(number, 2 * number + group);
        collective.group = group;
        board.finish(0, board.begin(0, collective));
      }
    });
  }
  for (std::array<int64_t, 2> last{}; std::ranges::min(last) < 20'000;) {
    last = {};
    for (const Collective& collective : board.status(0).collectives) {
      EXPECT_EQ(collective.elements, 2 * collective.number + collective.group) << "two mixed";
      auto& before = last.at(static_cast<size_t>(collective.group));
      EXPECT_GT(collective.number, before) << "one in another's place";
      before = collective.number;
    }
  }
  done = true;
  threads.clear();
  // A thread that is stopped in the middle while the other goes once round leaves a gap.
  EXPECT_GE(board.status(0).collectives.size(), most_collectives - 1);
}

}  // namespace
}  // namespace larmor
