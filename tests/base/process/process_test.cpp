#include "larmor/base/process/process.h"

#include <sys/syscall.h>
#include <sys/wait.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/text.h"

#include "tests/support/faults/process_call_watch.h"

namespace larmor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::signalled_after_reaping;

ProcessOptions shell(std::string script) {
  ProcessOptions options;
  options.program = "/bin/sh";
  options.arguments = {"-c", std::move(script)};
  return options;
}

// What the script writes to its standard output.
std::string output_of(ProcessOptions options) {
  const ScratchFolder scratch;
  const std::filesystem::path path = scratch.path() / "out";
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  options.standard_out = descriptor;
  Process process = Process::start(options);
  ::close(descriptor);
  EXPECT_EQ(process.wait().describe(), "exit status 0");
  return read_text(path);
}

bool ends_within(int pidfd, int milliseconds) {
  pollfd waited{.fd = pidfd, .events = POLLIN, .revents = 0};
  return ::poll(&waited, 1, milliseconds) == 1;
}

TEST(Process, GivesTheExitStatus) {
  Process process = Process::start(shell("exit 3"));
  const Ending ending = process.wait();
  EXPECT_EQ(ending.status, 3);
  EXPECT_FALSE(ending.ok());
  EXPECT_EQ(ending.describe(), "exit status 3");
  EXPECT_EQ(process.wait().status, 3);
  EXPECT_EQ(process.poll()->status, 3);
}

TEST(Process, GivesTheSignalThatEndedIt) {
  Process process = Process::start(shell("kill -SEGV $$"));
  EXPECT_EQ(process.wait().describe(), "killed by SIGSEGV");
}

TEST(Process, TellsThroughItsDescriptorWhenItEnds) {
  Process process = Process::start(shell("exec sleep 60"));
  EXPECT_FALSE(process.poll().has_value());
  EXPECT_FALSE(ends_within(process.wait_descriptor(), 0));
  process.send(SIGTERM);
  EXPECT_TRUE(ends_within(process.wait_descriptor(), 10'000));
  EXPECT_EQ(process.poll()->signal, SIGTERM);
}

TEST(Process, TakesWhatItStartedWithItWhereItIsAGroup) {
  const ScratchFolder scratch;
  const std::filesystem::path file = scratch.path() / "grandchild";
  ProcessOptions options = shell(text("sleep 60 & echo $! > ", file.string(), ".new; mv ", file.string(),
                                      ".new ", file.string(), "; wait"));
  options.own_group = true;
  std::optional<Process> process = Process::start(options);
  while (!std::filesystem::exists(file)) ::usleep(1000);
  const pid_t grandchild = std::stoi(read_text(file));
  EXPECT_EQ(::getpgid(grandchild), process->id());
  const int descriptor = static_cast<int>(::syscall(SYS_pidfd_open, grandchild, 0));
  ASSERT_GE(descriptor, 0);
  process.reset();
  EXPECT_TRUE(ends_within(descriptor, 10'000));
  ::close(descriptor);
}

TEST(Process, EndsWhatItLeftRunningBeforeItsNumberIsGivenUp) {
  const ScratchFolder scratch;
  const std::filesystem::path file = scratch.path() / "grandchild";
  ProcessOptions options = shell(text("sleep 60 & echo $! > ", file.string()));
  options.own_group = true;
  signalled_after_reaping();
  Process process = Process::start(options);
  ASSERT_TRUE(ends_within(process.wait_descriptor(), 10'000));
  const pid_t grandchild = std::stoi(read_text(file));
  const Descriptor left(static_cast<int>(::syscall(SYS_pidfd_open, grandchild, 0)));
  EXPECT_FALSE(ends_within(left.number(), 0));
  EXPECT_TRUE(process.poll()->ok());
  EXPECT_TRUE(ends_within(left.number(), 10'000));
  EXPECT_THAT(signalled_after_reaping(), IsEmpty());
}

TEST(Process, IsSentNoSignalOnceItIsReaped) {
  signalled_after_reaping();
  for (const bool own_group : {false, true}) {
    ProcessOptions options = shell("exit 0");
    options.own_group = own_group;
    Process waited = Process::start(options), polled = Process::start(options);
    waited.wait();
    ASSERT_TRUE(ends_within(polled.wait_descriptor(), 10'000));
    EXPECT_TRUE(polled.poll().has_value());
    for (Process* process : {&waited, &polled}) process->send(SIGTERM);
  }
  EXPECT_THAT(signalled_after_reaping(), IsEmpty());
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  ::kill(-child, SIGCONT);
  EXPECT_THAT(signalled_after_reaping(), ElementsAre(-child)) << "or this test sees nothing";
}

TEST(Process, HasAnEndingWhereSomebodyIgnoresTheEndOfChildren) {
  const auto old = std::signal(SIGCHLD, SIG_IGN);
  // Some have ended before they can be watched, and are not there any more.
  for (int round = 0; round < 50; ++round) {
    ProcessOptions options;
    options.program = "/bin/true";
    options.own_group = true;
    Process process = Process::start(options);
    EXPECT_TRUE(ends_within(process.wait_descriptor(), 10'000));
    EXPECT_EQ(process.poll()->status, 1);
  }
  std::signal(SIGCHLD, old);
}

TEST(Process, ReadsFromWhatItIsGiven) {
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ProcessOptions options = shell("wc -c");
  options.standard_in = nothing;
  EXPECT_EQ(trim(output_of(options)), "0");
  ::close(nothing);
}

TEST(Process, ThrowsWhenTheProgramCannotBeStarted) {
  const ScratchFolder scratch;
  for (const std::filesystem::path& program : {scratch.path() / "absent", scratch.path()}) {
    ProcessOptions options;
    options.program = program;
    try {
      Process::start(options);
      ADD_FAILURE() << program;
    } catch (const Error& error) {
      EXPECT_EQ(error.exit(), Exit::environment);
      EXPECT_THAT(error.message(), HasSubstr("cannot start " + program.string()));
    }
  }
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "the child that failed was not reaped";
}

TEST(Process, ThrowsWhenTheCoresCannotBeHad) {
  ProcessOptions options = shell("true");
  options.cores = {4000};
  EXPECT_THROW(Process::start(options), Error);
}

TEST(Process, SetsAndRemovesEnvironmentOnTopOfOurs) {
  ::setenv("LARMOR_TEST_KEPT", "kept", 1);
  ::setenv("LARMOR_TEST_GONE", "gone", 1);
  ProcessOptions options = shell("echo $LARMOR_TEST_KEPT-$LARMOR_TEST_GONE-$LARMOR_TEST_NEW");
  options.environment = {{"LARMOR_TEST_NEW", "a=b c"}};
  options.unset = {"LARMOR_TEST_GONE"};
  EXPECT_EQ(output_of(options), "kept--a=b c\n");
  options.environment = {{"LARMOR_TEST_KEPT", "changed"}};
  EXPECT_EQ(output_of(options), "changed--\n");
}

TEST(Process, PassesArgumentsAsTheyAre) {
  ProcessOptions options = shell("printf '%s|' \"$@\"");
  options.arguments.insert(options.arguments.end(), {"self", "a b", "", "$HOME", "*"});
  EXPECT_EQ(output_of(options), "a b||$HOME|*|");
}

TEST(Process, BindsToTheCoresAskedFor) {
  cpu_set_t ours;
  ASSERT_EQ(::sched_getaffinity(0, sizeof ours, &ours), 0);
  int last = 0;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(static_cast<size_t>(core), &ours)) last = core;
  }
  ProcessOptions options = shell("grep Cpus_allowed_list /proc/self/status");
  options.cores = {last};
  EXPECT_EQ(output_of(options), text("Cpus_allowed_list:\t", last, "\n"));
}

TEST(Process, KeepsOnlyTheDescriptorsAskedFor) {
  const int kept = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const int leaked = ::open("/dev/null", O_RDONLY);  // inheritable, as a library might open it
  ProcessOptions options = shell("ls /proc/$$/fd");
  options.keep_open = {kept};
  const std::vector<std::string> open = split(output_of(options), '\n');
  EXPECT_THAT(open, ::testing::Contains(text(kept)));
  EXPECT_THAT(open, ::testing::Not(::testing::Contains(text(leaked))));
  ::close(kept);
  ::close(leaked);
}

TEST(Process, CanSwapTheStandardDescriptors) {
  const ScratchFolder scratch;
  const int out = ::open((scratch.path() / "out").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  const int err = ::open((scratch.path() / "err").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  const int saved_out = ::dup(STDOUT_FILENO), saved_err = ::dup(STDERR_FILENO);
  ::dup2(err, STDOUT_FILENO);
  ::dup2(out, STDERR_FILENO);
  ProcessOptions options = shell("echo word; echo trouble >&2");
  options.standard_out = STDERR_FILENO;
  options.standard_error = STDOUT_FILENO;
  Process process = Process::start(options);
  ::dup2(saved_out, STDOUT_FILENO);
  ::dup2(saved_err, STDERR_FILENO);
  for (const int descriptor : {out, err, saved_out, saved_err}) ::close(descriptor);
  process.wait();
  EXPECT_EQ(read_text(scratch.path() / "out"), "word\n");
  EXPECT_EQ(read_text(scratch.path() / "err"), "trouble\n");
}

TEST(Process, StartsWithNoSignalBlockedAndIgnoredOnesIgnored) {
  sigset_t blocked, before;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &blocked, &before);
  const auto old = std::signal(SIGHUP, SIG_IGN);
  const std::string status = output_of(shell("grep -E 'Sig(Blk|Ign)' /proc/self/status"));
  std::signal(SIGHUP, old);
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  EXPECT_THAT(status, HasSubstr("SigBlk:\t0000000000000000"));
  EXPECT_THAT(status, ::testing::ContainsRegex("SigIgn:\t[0-9a-f]*[13579bdf]\n"));
}

TEST(Process, IsKilledAndReapedByItsDestructor) {
  pid_t id = 0;
  {
    const Process process = Process::start(shell("exec sleep 60"));
    id = process.id();
  }
  EXPECT_EQ(::kill(id, 0), -1);
}

TEST(Process, MovesWithItsChildAndEndsTheOneBefore) {
  Process first = Process::start(shell("exec sleep 60"));
  Process second = Process::start(shell("exit 2"));
  const pid_t before = first.id();
  first = std::move(second);
  EXPECT_EQ(::kill(before, 0), -1);
  EXPECT_EQ(first.wait().status, 2);
  const Process third = std::move(first);
  EXPECT_GT(third.id(), 0);
}

// Starts a sleeper from a process in between, kills that one, and says whether the sleeper ends too.
bool sleeper_ends_with_its_starter(bool die_with_parent) {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const pid_t between = ::fork();
  if (between == 0) {
    ProcessOptions options = shell("exec sleep 60");
    options.die_with_parent = die_with_parent;
    const Process sleeper = Process::start(options);
    const pid_t id = sleeper.id();
    const ssize_t written = ::write(ends[1], &id, sizeof id);
    ::pause();
    ::_exit(static_cast<int>(written));
  }
  pid_t id = 0;
  EXPECT_EQ(::read(ends[0], &id, sizeof id), static_cast<ssize_t>(sizeof id));
  const int sleeper = static_cast<int>(::syscall(SYS_pidfd_open, id, 0));
  ::kill(between, SIGKILL);
  ::waitpid(between, nullptr, 0);
  const bool ended = ends_within(sleeper, die_with_parent ? 10'000 : 100);
  ::syscall(SYS_pidfd_send_signal, sleeper, SIGKILL, nullptr, 0);
  for (const int descriptor : {sleeper, ends[0], ends[1]}) ::close(descriptor);
  return ended;
}

TEST(Process, DiesWithItsParentOnlyWhenAskedTo) {
  EXPECT_TRUE(sleeper_ends_with_its_starter(true));
  EXPECT_FALSE(sleeper_ends_with_its_starter(false));
}

TEST(OwnProgram, IsThisTest) { EXPECT_THAT(own_program().filename().string(), HasSubstr("base_test")); }

TEST(HostName, IsNotEmpty) { EXPECT_FALSE(host_name().empty()); }

TEST(SignalName, KnowsTheCommonSignalsAndNumbersTheRest) {
  EXPECT_EQ(signal_name(9), "SIGKILL");
  EXPECT_EQ(signal_name(SIGUSR1), "SIGUSR1");
  EXPECT_EQ(signal_name(40), "signal 40");
}

}  // namespace
}  // namespace larmor
