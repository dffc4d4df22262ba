#include "larmor/judge/stoppable_work.h"

#include <exception>
#include <functional>
#include <thread>

#include <gtest/gtest.h>

#include "larmor/base/error.h"

#include "tests/support/scope_contract.h"

namespace larmor::testing {
namespace {

class Count final : public Heartbeat {
 public:
  void show() override { ++beats; }
  int beats = 0;
};

TEST(StoppableWork, EndsAtTheNextHeartbeatOnceItIsAsked) {
  std::string words;
  const StoppableWork here([&] { return words; });
  EXPECT_NO_THROW(send_heartbeat());
  words = "stopped by SIGTERM";
  try {
    send_heartbeat();
    FAIL() << "it went on";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::stopped);
    EXPECT_EQ(error.message(), words);
    EXPECT_TRUE(is_stop(std::current_exception()));
  }
}

TEST(StoppableWork, IsNotBegunWhereItIsAskedAlready) {
  Count watcher;
  const HeartbeatScope watched(&watcher);
  EXPECT_THROW(StoppableWork([] { return "stopped"; }), Error);
  send_heartbeat();
  EXPECT_EQ(watcher.beats, 1);
}

TEST(StoppableWork, ShowsItsHeartbeatsToWhoeverWatchesTheThread) {
  Count watcher;
  const HeartbeatScope watched(&watcher);
  {
    const StoppableWork here([] { return ""; });
    send_heartbeat();
  }
  send_heartbeat();
  EXPECT_EQ(watcher.beats, 2);
}

TEST(StoppableWork, EndsNoThreadThatHelps) {
  bool is_asked = false;
  const StoppableWork here([&] { return is_asked ? "stopped" : ""; });
  is_asked = true;
  Heartbeat* const sign = heartbeat();
  EXPECT_NO_THROW(std::thread([sign] { sign->show(); }).join());
}

TEST(StoppableWork, KnowsAStopFromAnotherFailure) {
  const auto thrown = [](Exit exit) { return std::make_exception_ptr(Error(exit, "why")); };
  EXPECT_TRUE(is_stop(thrown(Exit::stopped)));
  EXPECT_FALSE(is_stop(thrown(Exit::data)));
  EXPECT_FALSE(is_stop(std::make_exception_ptr(1)));
}

struct Works {
  Heartbeat* state() { return heartbeat(); }
  void within(int /*which*/, const std::function<void()>& work) {
    const StoppableWork scope([] { return ""; });
    work();
  }
};

INSTANTIATE_TYPED_TEST_SUITE_P(Stoppable, ScopeContract, Works);

}  // namespace
}  // namespace larmor::testing
