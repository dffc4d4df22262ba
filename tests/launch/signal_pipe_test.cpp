#include "larmor/launch/signal_pipe.h"

#include <chrono>
#include <functional>
#include <thread>

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>

#include "tests/support/scope_contract.h"

namespace larmor {
namespace {

bool is_readable(const SignalPipe& pipe) {
  pollfd watched{pipe.descriptor(), POLLIN, 0};
  return poll(&watched, 1, 0) == 1;
}

TEST(SignalPipe, GivesTheSignalsInTheirOrderAndThenNone) {
  SignalPipe pipe;
  EXPECT_FALSE(is_readable(pipe));
  EXPECT_EQ(pipe.take(), 0);
  for (const int signal : {SIGINT, SIGHUP, SIGUSR1}) raise(signal);
  EXPECT_TRUE(is_readable(pipe));
  for (const int signal : {SIGINT, SIGHUP, SIGUSR1}) EXPECT_EQ(pipe.take(), signal);
  EXPECT_EQ(pipe.take(), 0);
  EXPECT_FALSE(is_readable(pipe));
}

TEST(SignalPipe, GivesASignalOnceThatArrivedTwiceWithinASecondHoweverLateItIsTaken) {
  SignalPipe pipe;
  for (const int signal : {SIGTERM, SIGTERM, SIGHUP, SIGINT}) raise(signal);
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  raise(SIGTERM);
  for (const int signal : {SIGTERM, SIGINT, SIGTERM, 0}) EXPECT_EQ(pipe.take(), signal);
}

TEST(SignalPipe, NeverBlocksTheHandlerWhenNobodyReads) {
  SignalPipe pipe;
  for (int i = 0; i < 70'000; ++i) raise(SIGUSR1);
  EXPECT_EQ(pipe.take(), SIGUSR1);
}

TEST(SignalPipe, BringsBackTheHandlersOfBefore) {
  struct sigaction ignore{}, after{};
  ignore.sa_handler = SIG_IGN;
  struct sigaction before{};
  sigaction(SIGUSR1, &ignore, &before);
  {
    const SignalPipe pipe;
  }
  {
    const SignalPipe again;
  }
  sigaction(SIGUSR1, &before, &after);
  EXPECT_EQ(after.sa_handler, SIG_IGN);
}

TEST(SignalPipe, LeavesTheNextSignalToTheOneAroundIt) {
  SignalPipe outer;
  {
    SignalPipe inner;
    raise(SIGTERM);
    EXPECT_EQ(outer.take(), 0);
    EXPECT_EQ(inner.take(), SIGTERM);
  }
  raise(SIGINT);
  EXPECT_EQ(outer.take(), SIGINT);
}

struct Pipes {
  /// Whether a signal would end the process.
  bool state() {
    struct sigaction now{};
    sigaction(SIGUSR1, nullptr, &now);
    return now.sa_handler == SIG_DFL;
  }
  void within(int /*which*/, const std::function<void()>& work) {
    const SignalPipe scope;
    work();
  }
};

}  // namespace

namespace testing {
INSTANTIATE_TYPED_TEST_SUITE_P(Launch, ScopeContract, Pipes);
}  // namespace testing
}  // namespace larmor
