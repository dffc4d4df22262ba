// What several threads that read files at once may hold together.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>

namespace larmor {

/// What Bytes throw that find no room. Not an Error: nothing is wrong with the file, which may be read alone.
class OverBudget : public std::exception {
 public:
  const char* what() const noexcept override {
    return "the files that are read at once take too much memory";
  }
};

/// Thread-safe.
class MemoryBudget {
 public:
  explicit MemoryBudget(uint64_t bytes) : left_(bytes) {}
  uint64_t left() const { return left_; }

 private:
  friend class BudgetScope;
  bool take(uint64_t bytes);

  std::atomic<uint64_t> left_;
};

/// While it lives, the Bytes that its thread makes count against the budget, until they are gone or it ends.
/// The innermost scope of a thread counts. Borrows the budget.
class BudgetScope {
 public:
  explicit BudgetScope(MemoryBudget& budget);
  ~BudgetScope();
  BudgetScope(const BudgetScope&) = delete;
  BudgetScope& operator=(const BudgetScope&) = delete;

  /// For whoever makes or ends memory of such a size in this thread; nothing happens without a scope. Throws
  /// OverBudget.
  static void count(uint64_t bytes);
  static void discount(uint64_t bytes) noexcept;

 private:
  MemoryBudget& budget_;
  BudgetScope* outer_;
  uint64_t held_ = 0;
};

}  // namespace larmor
