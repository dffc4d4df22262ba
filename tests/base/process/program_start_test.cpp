#include "larmor/base/process/program_start.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <functional>
#include <optional>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "larmor/base/files/file.h"
#include "larmor/base/process/descriptor.h"
#include "larmor/base/process/process.h"
#include "larmor/base/text.h"

namespace larmor {
namespace {

// How a child of this process ends that does this; it shows no more of the test.
Ending in_child(const std::function<bool()>& is_true) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(is_true() ? 0 : 1);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  if (WIFSIGNALED(status)) return {.signal = WTERMSIG(status)};
  return {.status = WEXITSTATUS(status)};
}

TEST(BeginProgram, LeavesNoStandardDescriptorToTheNextFile) {
  for (const int closed : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    const auto ending = in_child([&] {
      ::close(closed);
      begin_program();
      const Descriptor file(::open("/dev/null", O_WRONLY));
      return file.number() > STDERR_FILENO;
    });
    EXPECT_TRUE(ending.ok()) << closed << ": " << ending.describe();
  }
  const auto all = in_child([] {
    for (const int closed : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::close(closed);
    begin_program();
    const Descriptor file(::open("/dev/null", O_WRONLY));
    return file.number() > STDERR_FILENO;
  });
  EXPECT_TRUE(all.ok()) << all.describe();
}

TEST(BeginProgram, LeavesNoCoreFileUnlessThatIsAskedFor) {
  for (const bool asked : {false, true}) {
    const auto ending = in_child([&] {
      rlimit bytes{};
      ::getrlimit(RLIMIT_CORE, &bytes);
      bytes.rlim_cur = bytes.rlim_max;
      ::setrlimit(RLIMIT_CORE, &bytes);
      if (asked) ::setenv("LARMOR_CORE_FILES", "1", 1);
      begin_program();
      rlimit left{};
      ::getrlimit(RLIMIT_CORE, &left);
      return left.rlim_cur == (asked ? bytes.rlim_cur : 0) && left.rlim_max == bytes.rlim_max;
    });
    EXPECT_TRUE(ending.ok()) << asked << ": " << ending.describe();
  }
}

TEST(BeginProgram, LetsWritingToAStdoutThatWasClosedFail) {
  const auto ending = in_child([] {
    ::close(STDOUT_FILENO);
    ::close(STDERR_FILENO);
    begin_program();
    const bool out_fails = ::write(STDOUT_FILENO, "x", 1) < 0 && errno == EBADF;
    return out_fails && ::write(STDERR_FILENO, "x", 1) == 1;
  });
  EXPECT_TRUE(ending.ok()) << ending.describe();
}

TEST(BeginProgram, LeavesDescriptorsThatAreOpen) {
  const auto ending = in_child([] {
    struct stat before{}, after{};
    const bool known = ::fstat(STDOUT_FILENO, &before) == 0;
    begin_program();
    return known && ::fstat(STDOUT_FILENO, &after) == 0 && before.st_ino == after.st_ino;
  });
  EXPECT_TRUE(ending.ok()) << ending.describe();
}

TEST(BeginProgram, MayOpenAsManyFilesAsTheHardLimitAllows) {
  const auto ending = in_child([] {
    rlimit files{};
    if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return false;
    files.rlim_cur = 32;
    files.rlim_max = std::min(files.rlim_max, rlim_t{500});
    if (::setrlimit(RLIMIT_NOFILE, &files) != 0) return false;
    begin_program();
    rlimit now{};
    return ::getrlimit(RLIMIT_NOFILE, &now) == 0 && now.rlim_cur == files.rlim_max;
  });
  EXPECT_TRUE(ending.ok()) << ending.describe();
}

TEST(BeginProgram, MakesAnErrorOfAPipeThatNobodyReads) {
  const auto write_to_nobody = [] {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) return false;
    ::close(ends[0]);
    return ::write(ends[1], "x", 1) < 0 && errno == EPIPE;
  };
  EXPECT_EQ(in_child(write_to_nobody).signal, SIGPIPE);
  EXPECT_TRUE(in_child([&] {
                begin_program();
                return write_to_nobody();
              }).ok());
}

TEST(BeginProgram, MakesAnErrorOfTheLimitOfAFilesSize) {
  const ScratchFolder scratch;
  const auto outgrow = [&] {
    const rlimit small{.rlim_cur = 10, .rlim_max = 10};
    if (::setrlimit(RLIMIT_FSIZE, &small) != 0) return false;
    const Descriptor file(::open((scratch.path() / "file").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600));
    return ::write(file.number(), "0123456789", 10) == 10 && ::write(file.number(), "x", 1) < 0 &&
           errno == EFBIG;
  };
  EXPECT_EQ(in_child(outgrow).signal, SIGXFSZ);
  EXPECT_TRUE(in_child([&] {
                begin_program();
                return outgrow();
              }).ok());
}

TEST(BeginProgram, HearsHowAChildHasEndedWhereItsStarterIgnoresThat) {
  const auto status_of_a_child = [] {
    std::signal(SIGCHLD, SIG_IGN);
    begin_program();
    return Process::start({.program = "/bin/sh", .arguments = {"-c", "exit 42"}}).wait().status == 42;
  };
  const auto ending = in_child(status_of_a_child);
  EXPECT_TRUE(ending.ok()) << ending.describe();
}

TEST(BeginProgram, LeavesBothSignalsToTheProgramsThatAreStarted) {
  for (const int signal : {SIGPIPE, SIGXFSZ}) {
    for (const bool ignored : {false, true}) {
      const auto ending = in_child([&] {
        std::signal(signal, ignored ? SIG_IGN : SIG_DFL);
        begin_program();
        ProcessOptions shell{.program = "/bin/sh", .arguments = {"-c", "kill -$0 $$; exit 3", text(signal)}};
        const auto end = Process::start(shell).wait();
        return ignored ? end.status == 3 : end.signal == signal;
      });
      EXPECT_TRUE(ending.ok()) << signal << (ignored ? " ignored" : "") << ": " << ending.describe();
    }
  }
}

}  // namespace
}  // namespace larmor
