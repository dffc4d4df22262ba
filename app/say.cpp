#include "app/say.h"

#include <iostream>

#include <unistd.h>

namespace larmor::app {

bool say(const Lines& lines) { return static_cast<bool>(std::cerr << lines.shown() << std::flush); }

bool say(std::string_view message) { return say(Lines().add_text(bounded(message))); }

void say_last_lines(std::string_view lines) {
  if (!lines.empty()) say(Lines("  its last lines:").add_text(lines, "  | "));
}

void print(const Lines& lines) { std::cout << lines.shown() << std::flush; }

void write_to(int descriptor, const Lines& lines) {
  static_cast<void>(!write(descriptor, lines.shown().data(), lines.shown().size()));
}

}  // namespace larmor::app
