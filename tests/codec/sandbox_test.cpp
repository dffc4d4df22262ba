// Each case runs in a process of its own, because there is no way out of a sandbox.
#include "larmor/codec/sandbox.h"

#include <sys/socket.h>
#include <sys/syscall.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace larmor {
namespace {

constexpr int refused = 10, allowed = 11, other = 12, no_sandbox = 13;

/// Ends the process with the result of a system call inside the sandbox.
template <class Call>
void call_within(const Call& call) {
  const Sandbox sandbox = enter_sandbox();
  if (!sandbox.has_seccomp && sandbox.landlock_version == 0) ::_exit(no_sandbox);
  errno = 0;
  const long result = call();
  if (result >= 0) ::_exit(allowed);
  ::_exit(errno == EPERM || errno == EACCES ? refused : other);
}

class SandboxDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

using ::testing::ExitedWithCode;

TEST_F(SandboxDeathTest, RefusesFiles) {
  EXPECT_EXIT(call_within([] { return ::open("/etc/passwd", O_RDONLY); }), ExitedWithCode(refused), "");
  EXPECT_EXIT(call_within([] { return ::open("/tmp/larmor-sandbox-test", O_WRONLY | O_CREAT, 0600); }),
              ExitedWithCode(refused), "");
  EXPECT_EXIT(call_within([] { return ::unlink("/tmp/larmor-sandbox-test"); }), ExitedWithCode(refused), "");
}

TEST_F(SandboxDeathTest, RefusesSockets) {
  EXPECT_EXIT(call_within([] { return ::socket(AF_INET, SOCK_STREAM, 0); }), ExitedWithCode(refused), "");
  EXPECT_EXIT(call_within([] { return ::socket(AF_UNIX, SOCK_STREAM, 0); }), ExitedWithCode(refused), "");
}

TEST_F(SandboxDeathTest, RefusesProcesses) {
  EXPECT_EXIT(call_within([] { return ::fork(); }), ExitedWithCode(refused), "");
  EXPECT_EXIT(call_within([] { return ::execl("/bin/true", "true", nullptr); }), ExitedWithCode(refused), "");
  EXPECT_EXIT(call_within([] { return ::kill(::getppid(), 0); }), ExitedWithCode(refused), "");
}

TEST_F(SandboxDeathTest, RefusesCallsOfTheOldInterfaceToo) {
  EXPECT_EXIT(call_within([] { return ::syscall(SYS_ptrace, 0, 0, nullptr, nullptr); }),
              ExitedWithCode(refused), "");
  EXPECT_EXIT(call_within([] { return ::syscall(SYS_io_uring_setup, 1, nullptr); }), ExitedWithCode(refused),
              "");
}

TEST_F(SandboxDeathTest, LeavesMemoryTimeAndExceptions) {
  EXPECT_EXIT(call_within([] {
                const std::vector<char> large(100 << 20, 'x');
                try {
                  throw large.size();
                } catch (std::size_t size) {
                  return static_cast<long>(size);
                }
              }),
              ExitedWithCode(allowed), "");
}

}  // namespace
}  // namespace larmor
