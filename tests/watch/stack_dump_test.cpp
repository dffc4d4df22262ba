#include "larmor/watch/stack_dump.h"

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "larmor/base/clock.h"
#include "larmor/base/files/file.h"
#include "larmor/base/process/process.h"
#include "larmor/base/text.h"

namespace larmor {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

[[noreturn]] void never_return() {
  while (true) pause();
}

void start_thread(const char* name, std::function<void()> body) {
  std::thread([name, body = std::move(body)] {
    pthread_setname_np(pthread_self(), name);
    body();
  }).detach();
}

void say_ready() {
  SystemClock().sleep(0.1);  // the threads have to be where they stay
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, "ready\n", 6);
}

// What a child of the tests below does, instead of a test: it never ends by itself.

TEST(DISABLED_Child, HangsInALock) {
  static std::mutex held;
  dump_stacks_on_signal();
  held.lock();
  start_thread("stuck", [] { held.lock(); });
  say_ready();
  never_return();
}

TEST(DISABLED_Child, HasAThreadThatHearsNothing) {
  dump_stacks_on_signal();
  start_thread("deaf", [] {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    never_return();
  });
  say_ready();
  never_return();
}

TEST(DISABLED_Child, AsksItselfFromAnOlderThread) {
  static std::mutex mutex;
  static std::condition_variable changed;
  static bool is_installed = false;
  start_thread("older", [] {
    {
      std::unique_lock lock(mutex);
      changed.wait(lock, [] { return is_installed; });
    }
    raise(stack_signal());
    never_return();
  });
  dump_stacks_on_signal();
  {
    const std::lock_guard lock(mutex);
    is_installed = true;
  }
  changed.notify_all();
  never_return();
}

TEST(DISABLED_Child, Computes) {
  say_ready();
  static std::atomic<uint64_t> number = 0;
  while (true) ++number;
}

class StackDump : public ::testing::Test {
 protected:
  void start(const std::string& child) {
    ProcessOptions options;
    options.program = own_program();
    options.arguments = {"--gtest_also_run_disabled_tests", "--gtest_filter=DISABLED_Child." + child};
    const int log = open(file().c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    options.standard_out = nowhere;
    options.standard_error = log;
    process_.emplace(Process::start(options));
    close(log);
    close(nowhere);
  }
  std::filesystem::path file() const { return scratch_.path() / "log"; }
  std::string log() const { return read_text(file()); }
  size_t ends() const {
    size_t count = 0;
    const std::string all = log();
    for (size_t place = 0; (place = all.find(" end\n", place)) != std::string::npos; ++place) ++count;
    return count;
  }
  /// Whether it comes within ten seconds.
  bool comes(const std::function<bool()>& condition) const {
    for (int tries = 0; tries < 2000 && !condition(); ++tries) SystemClock().sleep(0.005);
    return condition();
  }
  bool is_ready() const {
    return comes([&] { return log().find("ready\n") != std::string::npos; });
  }

  std::optional<Process> process_;

 private:
  ScratchFolder scratch_;
};

TEST_F(StackDump, ShowsWhereEachThreadStands) {
  start("HangsInALock");
  ASSERT_TRUE(is_ready());
  process_->send(stack_signal());
  ASSERT_TRUE(comes([&] { return ends() == 1; }));
  const std::string all = log();
  EXPECT_THAT(all, HasSubstr(text("stacks of process ", process_->id(), " begin\n")));
  const size_t stuck = all.find("\"stuck\"\n");
  ASSERT_NE(stuck, std::string::npos);
  EXPECT_THAT(all.substr(stuck), HasSubstr("pthread_mutex_lock"));
  EXPECT_THAT(all, HasSubstr("DISABLED_Child_HangsInALock_Test::TestBody() + ")) << "our own functions too";
  EXPECT_THAT(all, HasSubstr("  pause + "));
  EXPECT_THAT(all, Not(HasSubstr("\"stacks\""))) << "the thread that writes is of no interest";
  EXPECT_FALSE(process_->poll()) << "it hangs on, unharmed";
}

TEST_F(StackDump, CanBeAskedForAgain) {
  start("HangsInALock");
  ASSERT_TRUE(is_ready());
  for (size_t dump = 1; dump <= 3; ++dump) {
    process_->send(stack_signal());
    ASSERT_TRUE(comes([&] { return ends() == dump; }));
  }
}

TEST_F(StackDump, ComesFromAStoppedProcessOnceItGoesOn) {
  start("HangsInALock");
  ASSERT_TRUE(is_ready());
  process_->send(SIGSTOP);
  ASSERT_TRUE(comes([&] { return process_state(process_->id()) == "stopped by a signal"; }));
  process_->send(stack_signal());
  SystemClock().sleep(0.2);
  EXPECT_EQ(ends(), 0U);
  process_->send(SIGCONT);
  EXPECT_TRUE(comes([&] { return ends() == 1; }));
}

TEST_F(StackDump, IsNotHeldUpByAThreadThatDoesNotAnswer) {
  start("HasAThreadThatHearsNothing");
  ASSERT_TRUE(is_ready());
  process_->send(stack_signal());
  ASSERT_TRUE(comes([&] { return ends() == 1; }));
  EXPECT_THAT(log(), HasSubstr("\"deaf\" does not answer; state S"));
  EXPECT_THAT(log(), HasSubstr("  pause + ")) << "the others do";
}

TEST_F(StackDump, WorksWhicheverThreadGetsTheSignal) {
  start("AsksItselfFromAnOlderThread");
  EXPECT_TRUE(comes([&] { return ends() == 1; }));
  EXPECT_FALSE(process_->poll());
}

TEST_F(StackDump, ProcessStateTellsWhatTheKernelKnows) {
  start("HangsInALock");
  ASSERT_TRUE(is_ready());
  EXPECT_EQ(process_state(process_->id()), "sleeping");
  const pid_t ended = process_->id();
  process_->send(SIGKILL);
  process_->wait();
  EXPECT_EQ(process_state(ended), "ended");
  start("Computes");
  ASSERT_TRUE(is_ready());
  EXPECT_TRUE(comes([&] { return process_state(process_->id()) == "running"; }));
}

}  // namespace
}  // namespace larmor
