#include "larmor/launch/status_board.h"

#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

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

TEST(Phase, HasAWordForEachValue) {
  EXPECT_EQ(to_text(Phase::starting), "starting");
  EXPECT_EQ(to_text(Phase::waiting_for_data), "waiting for data");
  EXPECT_EQ(to_text(Phase::computing), "computing");
  EXPECT_EQ(to_text(Phase::communicating), "communicating");
  EXPECT_EQ(to_text(Phase::validating), "validating");
  EXPECT_EQ(to_text(Phase::saving), "saving");
  EXPECT_EQ(to_text(Phase::finished), "finished");
}

}  // namespace
}  // namespace larmor
