// The agent's view of INT, TERM, HUP and USR1: bytes of a pipe that its loop waits for.
#pragma once

#include <array>

#include <signal.h>

#include "larmor/base/process/descriptor.h"
#include "larmor/launch/signal_count.h"
#include "larmor/launch/stop_signal.h"

namespace larmor {

/// Turns INT, TERM, HUP and USR1 into bytes of a pipe while it lives, each as often as it counts; the
/// handlers of before come back after. The innermost one of a process gets the signals.
class SignalPipe {
 public:
  SignalPipe();
  ~SignalPipe();
  SignalPipe(const SignalPipe&) = delete;
  SignalPipe& operator=(const SignalPipe&) = delete;

  /// Readable when a signal waits, be it one that does not count.
  int descriptor() const { return read_end_.number(); }
  /// The next signal, or 0.
  int take();

 private:
  Descriptor read_end_, write_end_;
  SignalCount count_;
  int outer_pipe_ = -1;
  std::array<struct sigaction, stop_signals.size()> before_{};
  std::array<bool, stop_signals.size()> is_set_{};
};

}  // namespace larmor
