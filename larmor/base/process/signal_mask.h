// Signals that are not delivered to a thread for a stretch of code.
#pragma once

#include <initializer_list>

#include <signal.h>

namespace larmor {

/// Blocks these signals in this thread, and in threads and processes that begin meanwhile, until the scope
/// ends.
class SignalsBlocked {
 public:
  explicit SignalsBlocked(std::initializer_list<int> signals);
  /// All that can be blocked.
  static SignalsBlocked all();
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  explicit SignalsBlocked(const sigset_t& signals) { pthread_sigmask(SIG_BLOCK, &signals, &before_); }

  sigset_t before_{};
};

}  // namespace larmor
