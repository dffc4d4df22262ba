#include "app/say.h"

#include <cerrno>
#include <iostream>

#include <poll.h>
#include <unistd.h>

#include "larmor/base/process/system_error.h"

namespace larmor::app {

bool say(const Lines& lines) { return static_cast<bool>(std::cerr << lines.shown() << std::flush); }

bool say(std::string_view message) { return say(Lines().add_text(bounded(message))); }

void say_last_lines(std::string_view lines) {
  if (!lines.empty()) say(Lines("  its last lines:").add_text(lines, "  | "));
}

int write_to(int descriptor, const Lines& lines) {
  std::string_view words = lines.shown();
  while (!words.empty()) {
    const ssize_t count = after_signals([&] { return ::write(descriptor, words.data(), words.size()); });
    if (count < 0 && errno == EAGAIN) {
      // Another program that has the same terminal or pipe has asked for not being kept waiting.
      pollfd taker{.fd = descriptor, .events = POLLOUT, .revents = 0};
      poll(&taker, 1, -1);
    } else if (count < 0) {
      return errno;
    } else {
      words.remove_prefix(static_cast<size_t>(count));
    }
  }
  return 0;
}

}  // namespace larmor::app
