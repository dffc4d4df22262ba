// The agent's view of INT, TERM, HUP and USR1: bytes of a pipe that its loop waits for.
#pragma once

#include "larmor/base/descriptor.h"

namespace larmor {

/// Turns INT, TERM, HUP and USR1 into bytes of a pipe while it lives; the handlers of before come back after.
/// One at a time.
class SignalPipe {
 public:
  SignalPipe();
  ~SignalPipe();
  SignalPipe(const SignalPipe&) = delete;
  SignalPipe& operator=(const SignalPipe&) = delete;

  /// Readable when a signal waits.
  int descriptor() const { return read_end_.number(); }
  /// The next signal, or 0.
  int take();

 private:
  Descriptor read_end_, write_end_;
};

}  // namespace larmor
