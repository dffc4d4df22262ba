// How a training is told to stop by those who do not send one signal to one process: terminals that are
// closed, timeout(1), schedulers that are in doubt. Each time it saves its last step, and ends with 75.
#include <chrono>
#include <csignal>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "larmor/base/process/descriptor.h"
#include "larmor/base/text.h"

#include "tests/processes/support/installed_program.h"
#include "tests/processes/support/small_training.h"
#include "tests/processes/support/trained_state.h"

namespace larmor::testing {
namespace {

using ::testing::HasSubstr;
using Words = std::vector<std::string>;

constexpr int stopped = 75;
constexpr double patience = 90;

/// A terminal, its screen being the master's end.
struct Terminal {
  Terminal() : screen(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
    if (::grantpt(screen.number()) == 0 && ::unlockpt(screen.number()) == 0)
      keyboard = Descriptor(::open(::ptsname(screen.number()), O_RDWR | O_NOCTTY | O_CLOEXEC));
  }
  Descriptor screen, keyboard;
};

class Signals : public ::testing::Test {
 protected:
  std::filesystem::path run(const std::string& name) const { return scratch_.path() / "runs" / name; }
  std::string log(const std::string& name) const { return read_text(run(name) / "log" / "launcher.log"); }
  /// A training that is not over by itself, and saves nothing by itself.
  static Words training(const std::string& name) {
    return with(small_training(name, 2, 4000), "checkpoint.every", "4000st");
  }
  /// The process of the training by `starter` and its words in a terminal of its own.
  Process start_in(Terminal& terminal, const std::string& name, const std::string& shell_words) const {
    ProcessOptions options;
    options.program = installed_program("setsid");
    options.arguments = {"--ctty", "sh", "-c", shell_words + " exec \"$0\" \"$@\"",
                         std::getenv("LARMOR_PROGRAM")};
    for (auto& word : training(name)) options.arguments.push_back(std::move(word));
    options.arguments.push_back("run.folder=" + (scratch_.path() / "runs").string());
    options.standard_in = options.standard_out = options.standard_error = terminal.keyboard.number();
    auto process = Process::start(options);
    terminal.keyboard = Descriptor();
    return process;
  }
  void expect_its_last_step_is_saved(const std::string& name) const {
    EXPECT_EQ(newest_step(run(name)), std::stoll(checkpoint_names(run(name)).back().substr(5)));
    EXPECT_EQ(larmor_program({"checkpoint", "verify", name}, here()).status, 0);
  }
  ProgramOptions here() const { return {.folder = scratch_.path()}; }

  ScratchFolder scratch_;
};

TEST_F(Signals, AHangUpInMidRunSavesTheLastStep) {
  Running program(training("hup"), here());
  ASSERT_TRUE(reaches_step(run("hup"), 3)) << program.err();
  program.send(SIGHUP);
  EXPECT_EQ(program.wait().status, stopped);
  expect_its_last_step_is_saved("hup");
  EXPECT_THAT(log("hup"), HasSubstr("got SIGHUP"));
}

TEST_F(Signals, TwoThatAreSentAtOnceAreOne) {
  for (const int second : {SIGTERM, SIGHUP}) {
    const auto name = text("two-", second);
    Running program(training(name), here());
    ASSERT_TRUE(reaches_step(run(name), 3)) << program.err();
    program.send(SIGTERM);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    program.send(second);
    EXPECT_EQ(program.wait().status, stopped) << signal_name(second);
    expect_its_last_step_is_saved(name);
  }
}

TEST_F(Signals, OfATimeoutAroundItAreOne) {
  auto words = training("timed");
  words.insert(words.begin(), {"600", std::getenv("LARMOR_PROGRAM")});
  auto options = here();
  options.program = installed_program("timeout");
  Running program(words, options);
  ASSERT_TRUE(reaches_step(run("timed"), 3)) << program.err();
  program.send(SIGTERM);  // which timeout sends to its child, and then to the group of both
  EXPECT_EQ(program.wait().status, stopped) << program.err();
  expect_its_last_step_is_saved("timed");
}

TEST_F(Signals, OfATerminalThatIsClosedSaveTheLastStep) {
  Terminal terminal;
  auto process = start_in(terminal, "closed", "");
  ASSERT_TRUE(reaches_step(run("closed"), 3));
  terminal.screen = Descriptor();
  EXPECT_EQ(process.wait().status, stopped);
  expect_its_last_step_is_saved("closed");
}

TEST_F(Signals, OfAClosedTerminalAreIgnoredUnderNohupAndNothingEnds) {
  Terminal terminal;
  auto process = start_in(terminal, "ignored", "trap '' HUP;");
  ASSERT_TRUE(reaches_step(run("ignored"), 3));
  terminal.screen = Descriptor();
  for (const int child : children_of(process.id())) ::kill(child, SIGHUP);
  const auto seen = newest_step(run("ignored"));
  ASSERT_TRUE(reaches_step(run("ignored"), seen + 10));
  process.send(SIGTERM);
  EXPECT_EQ(process.wait().status, stopped);
  expect_its_last_step_is_saved("ignored");
}

}  // namespace
}  // namespace larmor::testing
