#include "larmor/track/terminal.h"

#include <sys/ioctl.h>

#include <cstdlib>

#include <gtest/gtest.h>

#include "tests/track/support/collecting.h"

namespace larmor {
namespace {

TEST(Terminal, AsksTheTerminalForItsWidthEachTime) {
  const Screen screen = Screen::terminal(132);
  const Terminal terminal(screen.descriptor(), false);
  EXPECT_EQ(terminal.width(), 132);
  const winsize smaller{.ws_row = 24, .ws_col = 40, .ws_xpixel = 0, .ws_ypixel = 0};
  ioctl(screen.descriptor(), TIOCSWINSZ, &smaller);
  EXPECT_EQ(terminal.width(), 40);
}

TEST(Terminal, TakesTheWidthFromTheEnvironmentWhereNoTerminalKnows) {
  const Screen screen = Screen::pipe();
  const Terminal terminal(screen.descriptor(), false);
  unsetenv("COLUMNS");
  EXPECT_EQ(terminal.width(), 80);
  setenv("COLUMNS", "120", 1);
  EXPECT_EQ(terminal.width(), 120);
  setenv("COLUMNS", "wide", 1);
  EXPECT_EQ(terminal.width(), 80);
  unsetenv("COLUMNS");
}

TEST(Terminal, EndsItsStandingLineOnce) {
  Screen screen = Screen::pipe();
  {
    Terminal terminal(screen.descriptor(), false);
    terminal.standing_line("half");
    terminal.end_standing_line();
    terminal.end_standing_line();
    terminal.line("whole");
  }
  EXPECT_EQ(screen.take(), "\r\x1b[Khalf\nwhole\n");
}

TEST(Terminal, ShowsForeignWordsEscapedAndItsOwnColours) {
  Screen screen = Screen::pipe();
  Terminal terminal(screen.descriptor(), /*color=*/true);
  terminal.line("a\rb\nc\x1b[0m", Tone::warning);
  terminal.standing_line("d\te");
  terminal.end_standing_line();
  EXPECT_EQ(screen.take(), "\x1b[33ma\\rb\\nc\\u001b[0m\x1b[0m\n\r\x1b[Kd\\te\n");
}

}  // namespace
}  // namespace larmor
