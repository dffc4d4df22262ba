#include "larmor/launch/signal_count.h"

#include <gtest/gtest.h>

namespace larmor {
namespace {

constexpr std::int64_t second = 1'000'000'000, start = 5 * second;

TEST(SignalCount, TakesASignalThatComesTwiceWithinASecondForOne) {
  SignalCount count;
  EXPECT_TRUE(count.counts(SIGTERM, start));
  EXPECT_FALSE(count.counts(SIGTERM, start));
  EXPECT_FALSE(count.counts(SIGTERM, start + second - 1));
}

TEST(SignalCount, CountsTheNextOneASecondAfterTheLastThatCounted) {
  SignalCount count;
  EXPECT_TRUE(count.counts(SIGTERM, start));
  EXPECT_FALSE(count.counts(SIGTERM, start + second / 2));
  EXPECT_TRUE(count.counts(SIGTERM, start + second)) << "though another came half a second ago";
}

TEST(SignalCount, CountsSignalsOfOtherKindsAtOnce) {
  SignalCount count;
  for (const int signal : {SIGTERM, SIGINT, SIGUSR1}) EXPECT_TRUE(count.counts(signal, start)) << signal;
}

TEST(SignalCount, TakesAHangUpBehindATermForTheSame) {
  for (const int first : {SIGTERM, SIGHUP}) {
    SignalCount count;
    EXPECT_TRUE(count.counts(first, start));
    EXPECT_FALSE(count.counts(SIGTERM + SIGHUP - first, start + 1));
  }
}

TEST(SignalCount, TakesOneThatAnotherThreadHeardALittleEarlierForTheSame) {
  SignalCount count;
  EXPECT_TRUE(count.counts(SIGTERM, start));
  EXPECT_FALSE(count.counts(SIGTERM, start - 1));
}

TEST(SignalCount, LooksAtTheClockItself) {
  SignalCount count;
  EXPECT_TRUE(count.counts(SIGTERM));
  EXPECT_FALSE(count.counts(SIGTERM, start));
}

}  // namespace
}  // namespace larmor
