#include "larmor/base/process/readiness.h"

#include <sys/resource.h>
#include <sys/time.h>

#include <array>
#include <chrono>
#include <csignal>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "larmor/base/error.h"
#include "larmor/base/process/descriptor.h"

namespace larmor {
namespace {

using std::chrono::milliseconds;

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe(ends.data()), 0);
    read_end.reset(ends[0]);
    write_end.reset(ends[1]);
  }
  Descriptor read_end, write_end;
};

TEST(WaitForAny, SaysWhichIsReady) {
  const Pipe first, second;
  std::array<pollfd, 2> watched{
      {{first.read_end.number(), POLLIN, 0}, {second.read_end.number(), POLLIN, 0}}};
  EXPECT_FALSE(wait_for_any(watched, milliseconds(1)));
  ASSERT_EQ(::write(second.write_end.number(), "x", 1), 1);
  EXPECT_TRUE(wait_for_any(watched, milliseconds(-1)));
  EXPECT_EQ(watched[0].revents, 0);
  EXPECT_EQ(watched[1].revents, POLLIN);
}

TEST(WaitForAny, EndsWithASignal) {
  const auto old = std::signal(SIGALRM, [](int) {});
  const itimerval often{{0, 5000}, {0, 5000}}, never{};
  ASSERT_EQ(::setitimer(ITIMER_REAL, &often, nullptr), 0);
  const Pipe pipe;
  std::array<pollfd, 1> watched{{{pipe.read_end.number(), POLLIN, 0x7f}}};
  EXPECT_FALSE(wait_for_any(watched, milliseconds(-1)));
  EXPECT_EQ(watched[0].revents, 0) << "nothing was looked at";
  ASSERT_EQ(::setitimer(ITIMER_REAL, &never, nullptr), 0);
  std::signal(SIGALRM, old);
}

TEST(WaitForAny, ThrowsWhereTheSystemCannotWait) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit few = before;
  few.rlim_cur = 8;
  std::vector<pollfd> many(9, {-1, POLLIN, 0});
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  try {
    wait_for_any(many, milliseconds(0));
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::environment);
    EXPECT_THAT(error.hint(), ::testing::HasSubstr("ulimit -n"));
  }
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

}  // namespace
}  // namespace larmor
