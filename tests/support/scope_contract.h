// What every scope of the program owes: to put back what it found, also where it is left by an exception, and
// where it stands in another one of its kind.
//
// Scopes that are held to it:
//   base      LoadClock, LoadScope, SignalsBlocked (tests/base/scopes_test.cpp)
//   launch    SignalPipe (tests/launch/signal_pipe_test.cpp)
//   device    all of its scopes (tests/device/scopes_test.cpp)
//   formats   BudgetScope (tests/formats/memory_budget_test.cpp)
//   nn        Frozen (tests/nn/frozen_test.cpp)
//   parallel  WholeNetwork, AveragedWeights (tests/parallel/scopes_test.cpp)
//   train     EvaluationMode, StoppableWork (networks_test.cpp and stoppable_work_test.cpp of tests/train)
#pragma once

#include <functional>
#include <stdexcept>

#include <gtest/gtest.h>

namespace larmor::testing {

/// `Kind` has state(), which can be compared and is what the scope changes, and
/// within(int which, std::function<void()> work), which runs `work` in a scope: one of two kinds of it that
/// differ, where there are such.
template <class Kind>
class ScopeContract : public ::testing::Test {
 protected:
  Kind kind_;
};
TYPED_TEST_SUITE_P(ScopeContract);

struct Left : std::runtime_error {
  Left() : std::runtime_error("left by an exception") {}
};

TYPED_TEST_P(ScopeContract, ChangesAndPutsBack) {
  const auto before = this->kind_.state();
  for (const int which : {0, 1, 0}) {
    this->kind_.within(which, [&] { EXPECT_FALSE(this->kind_.state() == before); });
    EXPECT_TRUE(this->kind_.state() == before);
  }
}

TYPED_TEST_P(ScopeContract, PutsBackWhereItIsLeftByAnException) {
  const auto before = this->kind_.state();
  EXPECT_THROW(this->kind_.within(0, [] { throw Left(); }), Left);
  EXPECT_TRUE(this->kind_.state() == before);
}

TYPED_TEST_P(ScopeContract, PutsBackWhatItFoundInAnotherOfItsKind) {
  auto& kind = this->kind_;
  const auto before = kind.state();
  kind.within(0, [&] {
    const auto outer = kind.state();
    for (const int which : {0, 1}) {
      kind.within(which, [&] {
        const auto inner = kind.state();
        kind.within(0, [] {});
        EXPECT_TRUE(kind.state() == inner);
      });
      EXPECT_TRUE(kind.state() == outer) << which;
      EXPECT_THROW(kind.within(which, [] { throw Left(); }), Left);
      EXPECT_TRUE(kind.state() == outer) << which;
    }
  });
  EXPECT_TRUE(kind.state() == before);
}

REGISTER_TYPED_TEST_SUITE_P(ScopeContract, ChangesAndPutsBack, PutsBackWhereItIsLeftByAnException,
                            PutsBackWhatItFoundInAnotherOfItsKind);

}  // namespace larmor::testing
