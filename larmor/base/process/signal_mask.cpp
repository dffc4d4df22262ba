#include "larmor/base/process/signal_mask.h"

namespace larmor {
namespace {

sigset_t set_of(std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  return set;
}

}  // namespace

SignalsBlocked::SignalsBlocked(std::initializer_list<int> signals) : SignalsBlocked(set_of(signals)) {}

SignalsBlocked SignalsBlocked::all() {
  sigset_t set;
  sigfillset(&set);
  return SignalsBlocked(set);
}

}  // namespace larmor
