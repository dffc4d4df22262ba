#include "larmor/launch/signal_pipe.h"

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <fcntl.h>
#include <signal.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor {
namespace {

// A handler can reach nothing but a global.
std::atomic<int> pipe_for_handler = -1;

/// Small enough for a pipe to take it whole or not at all.
struct Arrival {
  std::int64_t at_nanoseconds;
  int signal;
};

void pass_to_pipe(int signal) {
  const int saved = errno;
  const Arrival arrival{SignalCount::monotonic_nanoseconds(), signal};
  // A full pipe holds more signals than matter.
  [[maybe_unused]] const ssize_t written = write(pipe_for_handler.load(), &arrival, sizeof arrival);
  errno = saved;
}

}  // namespace

SignalPipe::SignalPipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
    fail(Exit::environment, text("cannot make a pipe for signals: ", std::strerror(errno)));
  }
  read_end_ = Descriptor(ends[0]);
  write_end_ = Descriptor(ends[1]);
  outer_pipe_ = pipe_for_handler.exchange(ends[1]);
  struct sigaction action{};
  action.sa_handler = pass_to_pipe;
  action.sa_flags = SA_RESTART;
  for (size_t i = 0; i < stop_signals.size(); ++i)
    is_set_[i] = set_stop_action(stop_signals[i], action, &before_[i]);
}

SignalPipe::~SignalPipe() {
  for (size_t i = 0; i < stop_signals.size(); ++i) {
    if (is_set_[i]) sigaction(stop_signals[i], &before_[i], nullptr);
  }
  pipe_for_handler = outer_pipe_;
}

int SignalPipe::take() {
  Arrival arrival{};
  while (read(read_end_.number(), &arrival, sizeof arrival) == sizeof arrival) {
    if (count_.counts(arrival.signal, arrival.at_nanoseconds)) return arrival.signal;
  }
  return 0;
}

}  // namespace larmor
