#include "larmor/launch/stop_signal.h"

#include <sys/wait.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

namespace larmor {
namespace {

// The flag belongs to the process, so each case runs in one of its own.
template <class Body>
void expect_status(int status, Body body) {
  EXPECT_EXIT(
      {
        watch_stop_signals();
        std::exit(body());
      },
      ::testing::ExitedWithCode(status), "");
}

TEST(StopSignal, IsNotThereBeforeAnyoneAsks) {
  expect_status(0, [] { return stop_requested() || stop_signal() != 0; });
}

TEST(StopSignal, OnlySetsAFlagAtTheFirstSignal) {
  for (const int signal : stop_signals) {
    expect_status(0, [signal] {
      raise(signal);
      return !(stop_requested() && stop_signal() == signal);
    });
  }
}

TEST(StopSignal, LeavesAHangUpIgnoredThatNohupHasIgnored) {
  EXPECT_EXIT(
      {
        signal(SIGHUP, SIG_IGN);
        watch_stop_signals();
        raise(SIGHUP);
        std::exit(stop_requested() ? 1 : 0);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST(StopSignal, SaysThatAPeerIsLostAndAsksForNoStop) {
  expect_status(0, [] {
    const bool before = peer_is_lost();
    for (int times = 0; times < 2; ++times) raise(lost_peer_signal());
    return before || !peer_is_lost() || stop_requested();
  });
}

TEST(StopSignal, IgnoresTheLossOfAPeerWhereNobodyWatches) {
  EXPECT_EXIT(
      {
        raise(lost_peer_signal());
        std::exit(peer_is_lost() ? 1 : 0);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST(StopSignal, EndsTheProcessAtTheSecondWithItsNumber) {
  expect_status(128 + SIGTERM, [] {
    raise(SIGUSR1);
    raise(SIGTERM);
    return 0;
  });
}

TEST(StopSignal, CountsOneThatIsSentTwiceWithinASecondOnce) {
  for (const int again : {SIGTERM, SIGHUP}) {
    expect_status(0, [again] {
      raise(SIGTERM);
      raise(again);
      return stop_signal() != SIGTERM;
    });
  }
  expect_status(128 + SIGTERM, [] {
    raise(SIGTERM);
    std::this_thread::sleep_for(std::chrono::milliseconds(1100));
    raise(SIGTERM);
    return 0;
  });
}

/// How a process ends that has heard SIGUSR1 from somebody else, and then so often from its parent.
int status_after_signals_of_the_parent(int count) {
  int ready[2], go_on[2];
  if (pipe(ready) != 0 || pipe(go_on) != 0) return -1;
  const pid_t child = fork();
  char byte = 0;
  if (child == 0) {
    watch_stop_signals();
    raise(SIGUSR1);
    if (write(ready[1], &byte, 1) != 1 || read(go_on[0], &byte, 1) != 1) _exit(1);
    _exit(stop_requested() ? 0 : 2);
  }
  if (read(ready[0], &byte, 1) != 1) return -1;
  for (int i = 0; i < count; ++i) kill(child, SIGUSR1);
  int status = -1;
  if (write(go_on[1], &byte, 1) != 1 || waitpid(child, &status, 0) != child) return -1;
  for (const int end : {ready[0], ready[1], go_on[0], go_on[1]}) close(end);
  return WEXITSTATUS(status);
}

TEST(StopSignal, TakesWhatASchedulerSendsToAllAndTheAgentPassesOnForOneSignal) {
  EXPECT_EQ(status_after_signals_of_the_parent(0), 0);
  EXPECT_EQ(status_after_signals_of_the_parent(1), 0);
}

TEST(StopSignal, CanBeAskedForFromInsideWithoutASignal) {
  expect_status(0, [] {
    request_stop();
    return !(stop_requested() && stop_signal() == 0);
  });
}

TEST(StopSignal, CountsSignalsAloneTowardsTheSecond) {
  expect_status(0, [] {
    request_stop();
    raise(SIGINT);
    return stop_signal() != SIGINT;
  });
  expect_status(128 + SIGTERM, [] {
    request_stop();
    raise(SIGINT);
    raise(SIGTERM);
    return 0;
  });
}

}  // namespace
}  // namespace larmor
