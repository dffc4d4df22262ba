// What a terminal gets to see: colours where they are wanted, and none where not.
#include <array>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/processes/support/program_run.h"

namespace larmor::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* escape = "\x1b[";
constexpr const char* green = "\x1b[32m";

/// What a short training shows when its stderr is a terminal.
std::string on_a_terminal(std::map<std::string, std::string> environment,
                          const std::vector<std::string>& more = {}) {
  const ScratchFolder scratch;
  const int screen = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (screen < 0 || grantpt(screen) != 0 || unlockpt(screen) != 0) return "no pseudo-terminal";
  const int keyboard = open(ptsname(screen), O_RDWR | O_NOCTTY | O_CLOEXEC);
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  ProcessOptions options;
  options.program = std::getenv("LARMOR_PROGRAM");
  options.arguments = {"train",
                       "latent_diffusion",
                       "-c",
                       "tiny",
                       "--ranks",
                       "1",
                       "train.length=12st",
                       "run.folder=" + (scratch.path() / "runs").string()};
  options.arguments.insert(options.arguments.end(), more.begin(), more.end());
  options.environment = std::move(environment);
  options.standard_out = nowhere;
  options.standard_error = keyboard;
  Process process = Process::start(options);
  close(keyboard);
  close(nowhere);
  std::string shown;
  std::array<char, 4096> part{};
  // Ends with EIO when the last holder of the other end is gone.
  for (ssize_t count = 0; (count = read(screen, part.data(), part.size())) > 0;)
    shown.append(part.data(), static_cast<size_t>(count));
  close(screen);
  EXPECT_TRUE(process.wait().ok()) << shown;
  EXPECT_THAT(shown, HasSubstr("validation after step 12"));
  return shown;
}

TEST(Terminal, ShowsColours) {
  EXPECT_THAT(on_a_terminal({{"TERM", "xterm"}, {"NO_COLOR", ""}}), HasSubstr(green));
}

TEST(Terminal, ShowsNoColoursWhereTheyAreNotWanted) {
  EXPECT_THAT(on_a_terminal({{"TERM", "xterm"}, {"NO_COLOR", "1"}}), Not(HasSubstr(green)));
  EXPECT_THAT(on_a_terminal({{"TERM", "xterm"}, {"NO_COLOR", ""}}, {"--no-color"}), Not(HasSubstr(green)));
}

TEST(Terminal, GetsPlainLinesWhereItKnowsNoOthers) {
  EXPECT_THAT(on_a_terminal({{"TERM", "dumb"}, {"NO_COLOR", ""}}), Not(HasSubstr(escape)));
}

}  // namespace
}  // namespace larmor::testing
