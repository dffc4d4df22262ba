#include "larmor/track/terminal.h"

#include <sys/ioctl.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <ctime>
#include <string>

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "larmor/base/printable.h"
#include "larmor/base/process/signal_mask.h"
#include "larmor/base/text.h"

namespace larmor {
namespace {

constexpr std::string_view erase_line = "\r\x1b[K";

std::string_view color_of(Tone tone) {
  switch (tone) {
    case Tone::plain:
      return "";
    case Tone::good:
      return "\x1b[32m";
    case Tone::warning:
      return "\x1b[33m";
    case Tone::error:
      return "\x1b[31m";
  }
  return "";
}

/// Holds SIGPIPE back in this thread while it lives, and swallows the one that came meanwhile.
class WithoutSigpipe {
 public:
  WithoutSigpipe() {
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
  }
  ~WithoutSigpipe() {
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    constexpr timespec no_time{};
    if (!was_pending_) sigtimedwait(&pipe, nullptr, &no_time);
  }
  WithoutSigpipe(const WithoutSigpipe&) = delete;
  WithoutSigpipe& operator=(const WithoutSigpipe&) = delete;

 private:
  const SignalsBlocked blocked_{SIGPIPE};
  bool was_pending_ = false;
};

}  // namespace

void Terminal::line(std::string_view words, Tone tone) {
  const std::string_view color = color_ ? color_of(tone) : "";
  write(text(stands_ ? erase_line : "", color, bounded(words), color.empty() ? "" : "\x1b[0m", "\n"));
  stands_ = false;
}

void Terminal::standing_line(std::string_view words) {
  write(text(erase_line, printable(words)));
  stands_ = true;
}

void Terminal::end_standing_line() {
  if (stands_) write("\n");
  stands_ = false;
}

int Terminal::width() const {
  winsize size{};
  if (ioctl(descriptor_, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const char* columns = std::getenv("COLUMNS");
  const std::string_view written = columns ? columns : "";
  int number = 0;  // stays so where it is none
  std::from_chars(written.data(), written.data() + written.size(), number);
  return number > 0 ? number : 80;
}

void Terminal::write(std::string_view bytes) {
  const WithoutSigpipe guard;
  while (!bytes.empty()) {
    pollfd screen{descriptor_, POLLOUT, 0};
    if (poll(&screen, 1, 0) != 1 || !(screen.revents & POLLOUT)) return;
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace larmor
