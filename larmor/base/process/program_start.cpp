#include "larmor/base/process/program_start.h"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <initializer_list>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

namespace larmor {
namespace {

// A descriptor of the other direction: to read from stdin and to write to stdout fails as if they were closed
// still. What is said to people on stderr is lost without a word.
int flags_of_nothing(int descriptor) { return descriptor == STDOUT_FILENO ? O_RDONLY : O_WRONLY; }

void open_closed_ones() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // Opening takes the lowest number that is free, which is this one.
    if (::fcntl(descriptor, F_GETFD) < 0 && errno == EBADF)
      static_cast<void>(::open("/dev/null", flags_of_nothing(descriptor)));
  }
}

// A handler, because exec sets those back: SIG_IGN would go on to whatever is started from here.
void make_an_error_of(int signal) {
  struct sigaction action{};
  if (::sigaction(signal, nullptr, &action) != 0 || action.sa_handler != SIG_DFL) return;
  action.sa_handler = [](int) {};
  action.sa_flags = SA_RESTART;
  ::sigaction(signal, &action, nullptr);
}

// Ranks hold connections to all others. Without the right to raise it the limit stays as it is.
void take_all_descriptors() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  constexpr rlim_t enough = rlim_t{1} << 20;
  files.rlim_cur = std::max(files.rlim_cur, std::min(files.rlim_max, enough));
  static_cast<void>(::setrlimit(RLIMIT_NOFILE, &files));
}

// The limit can be raised again by what this program starts: only its soft half is 0.
void leave_no_core_file() {
  const char* const asked = std::getenv("LARMOR_CORE_FILES");
  rlimit bytes{};
  if ((asked != nullptr && asked == std::string_view("1")) || ::getrlimit(RLIMIT_CORE, &bytes) != 0) return;
  bytes.rlim_cur = 0;
  static_cast<void>(::setrlimit(RLIMIT_CORE, &bytes));
}

}  // namespace

void begin_program() {
  open_closed_ones();
  take_all_descriptors();
  leave_no_core_file();
  make_an_error_of(SIGPIPE);
  make_an_error_of(SIGXFSZ);
  // Ignored, as some starters hand it on, the kernel would throw the status of every child away.
  static_cast<void>(std::signal(SIGCHLD, SIG_DFL));
}

}  // namespace larmor
