#include "larmor/formats/memory_budget.h"

#include <algorithm>
#include <utility>

namespace larmor {
namespace {

thread_local BudgetScope* current = nullptr;

}  // namespace

bool MemoryBudget::take(uint64_t bytes) {
  uint64_t left = left_;
  while (left >= bytes) {
    if (left_.compare_exchange_weak(left, left - bytes)) return true;
  }
  return false;
}

BudgetScope::BudgetScope(MemoryBudget& budget) : budget_(budget), outer_(std::exchange(current, this)) {}

BudgetScope::~BudgetScope() {
  current = outer_;
  budget_.left_ += held_;
}

void BudgetScope::count(uint64_t bytes) {
  if (current == nullptr) return;
  if (!current->budget_.take(bytes)) throw OverBudget();
  current->held_ += bytes;
}

// Bytes that were made before the scope may end within it.
void BudgetScope::discount(uint64_t bytes) noexcept {
  if (current == nullptr) return;
  const uint64_t given = std::min(bytes, current->held_);
  current->held_ -= given;
  current->budget_.left_ += given;
}

}  // namespace larmor
