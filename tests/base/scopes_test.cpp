#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

#include <gtest/gtest.h>
#include <signal.h>

#include "larmor/base/load_clock.h"
#include "larmor/base/process/signal_mask.h"

#include "tests/support/scope_contract.h"

namespace larmor::testing {
namespace {

struct Clocks {
  /// Which clock counts what begins now; 0: none.
  int state() {
    said_by_ = 0;
    {
      const LoadScope stage(LoadStage::read);
    }
    return said_by_;
  }
  void within(int /*which*/, const std::function<void()>& work) {
    const int number = ++made_;
    const LoadClock clock([this, number] { said_by_ = number; });
    work();
  }

  int made_ = 0, said_by_ = 0;
};

struct Stages {
  /// What the clock counts now; -1: nothing.
  int state() {
    clock_.take();
    const auto begun = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - begun < std::chrono::microseconds(20)) {
    }
    const LoadSeconds seconds = clock_.take();
    const auto* const most = std::max_element(seconds.begin(), seconds.end());
    return *most > 0 ? static_cast<int>(most - seconds.begin()) : -1;
  }
  void within(int which, const std::function<void()>& work) {
    const LoadScope stage(which == 0 ? LoadStage::decode : LoadStage::augment);
    work();
  }

  LoadClock clock_;
};

struct BlockedSignals {
  std::vector<bool> state() {
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    std::vector<bool> all;
    for (int signal = 1; signal < NSIG; ++signal) all.push_back(sigismember(&blocked, signal) == 1);
    return all;
  }
  void within(int which, const std::function<void()>& work) {
    if (which == 0) {
      const SignalsBlocked some{SIGPIPE, SIGUSR2};
      work();
    } else {
      const SignalsBlocked every = SignalsBlocked::all();
      work();
    }
  }
};

using Kinds = ::testing::Types<Clocks, Stages, BlockedSignals>;
INSTANTIATE_TYPED_TEST_SUITE_P(Base, ScopeContract, Kinds);

}  // namespace
}  // namespace larmor::testing
