#include "larmor/launch/stop_signal.h"

#include <cstdlib>

#include <gtest/gtest.h>
#include <signal.h>

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
      testing::ExitedWithCode(status), "");
}

TEST(StopSignal, IsNotThereBeforeAnyoneAsks) {
  expect_status(0, [] { return stop_requested() || stop_signal() != 0; });
}

TEST(StopSignal, OnlySetsAFlagAtTheFirstSignal) {
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1}) {
    expect_status(0, [signal] {
      raise(signal);
      return !(stop_requested() && stop_signal() == signal);
    });
  }
}

TEST(StopSignal, EndsTheProcessAtTheSecondWithItsNumber) {
  expect_status(128 + SIGTERM, [] {
    raise(SIGUSR1);
    raise(SIGTERM);
    return 0;
  });
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
  expect_status(128 + SIGINT, [] {
    request_stop();
    raise(SIGINT);
    raise(SIGINT);
    return 0;
  });
}

}  // namespace
}  // namespace larmor
