#include "larmor/formats/memory_budget.h"

#include <atomic>
#include <functional>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "larmor/formats/bytes.h"

#include "tests/support/scope_contract.h"

namespace larmor {
namespace {

TEST(MemoryBudget, IsTakenFromAndGivenBackByBytes) {
  MemoryBudget budget(1000);
  const BudgetScope scope(budget);
  {
    Bytes first(300);
    Bytes second(200);
    EXPECT_EQ(budget.left(), 500U);
    second.grow(600);
    EXPECT_EQ(budget.left(), 100U);
    first = Bytes(50);
    EXPECT_EQ(budget.left(), 350U);
    const Bytes moved = std::move(second);
    EXPECT_EQ(budget.left(), 350U);
  }
  EXPECT_EQ(budget.left(), 1000U);
}

TEST(MemoryBudget, RefusesWhatDoesNotFitAndKeepsCount) {
  MemoryBudget budget(1000);
  const BudgetScope scope(budget);
  EXPECT_THROW(Bytes(1001), OverBudget);
  Bytes bytes(600);
  EXPECT_THROW(Bytes(401), OverBudget);
  EXPECT_THROW(bytes.grow(1001), OverBudget);
  EXPECT_EQ(bytes.size(), 600U);
  EXPECT_EQ(budget.left(), 400U);
}

TEST(MemoryBudget, CountsOnlyWithinAScopeOfItsThread) {
  MemoryBudget budget(100);
  const Bytes before(1000);
  std::optional<Bytes> outlives;
  {
    const BudgetScope scope(budget);
    outlives.emplace(60);
    std::jthread([] { EXPECT_EQ(Bytes(1000).size(), 1000U); }).join();
    EXPECT_EQ(budget.left(), 40U);
  }
  EXPECT_EQ(budget.left(), 100U);
  outlives.reset();
  EXPECT_EQ(budget.left(), 100U);
}

TEST(MemoryBudget, IsNeverExceededByThreadsTogether) {
  MemoryBudget budget(3000);
  std::atomic<int> held{0}, most{0};
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 2000; ++round) {
        const BudgetScope scope(budget);
        try {
          const Bytes bytes(1000);
          const int now = ++held;
          for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
          }
          --held;
        } catch (const OverBudget&) {
        }
      }
    });
  }
  threads.clear();
  EXPECT_GE(most, 1);
  EXPECT_LE(most, 3);
  EXPECT_EQ(budget.left(), 3000U);
}

/// Which of two budgets what is made now counts against.
struct Budgets {
  std::pair<bool, bool> state() {
    const uint64_t first = budgets_[0].left(), second = budgets_[1].left();
    const Bytes made(8);
    return {budgets_[0].left() < first, budgets_[1].left() < second};
  }
  void within(int which, const std::function<void()>& work) {
    const BudgetScope scope(budgets_[which]);
    work();
  }
  MemoryBudget budgets_[2] = {MemoryBudget(1000), MemoryBudget(1000)};
};

TEST(MemoryBudget, IsWholeAgainAfterScopesWithinOneAnother) {
  MemoryBudget outer(100), inner(100);
  {
    const BudgetScope around(outer);
    const Bytes first(10);
    {
      const BudgetScope within(inner);
      const Bytes second(20);
      EXPECT_EQ(inner.left(), 80U);
      EXPECT_EQ(outer.left(), 90U);
    }
    EXPECT_EQ(inner.left(), 100U);
    const Bytes third(5);
    EXPECT_EQ(outer.left(), 85U);
  }
  EXPECT_EQ(outer.left(), 100U);
}

}  // namespace

namespace testing {
INSTANTIATE_TYPED_TEST_SUITE_P(Formats, ScopeContract, Budgets);
}  // namespace testing
}  // namespace larmor
