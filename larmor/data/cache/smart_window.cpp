#include "larmor/data/cache/smart_window.h"

#include <algorithm>
#include <cmath>

#include "larmor/base/ensure.h"

namespace larmor {
namespace {

// No epoch of an order has this number, so the list is not the first epoch's permutation again.
constexpr uint64_t list_epoch = ~uint64_t{0};

// A product that is a whole number up to rounding counts as one: 10 x 0.3 are 3, not 2.
constexpr double rounding = 1e-9;

}  // namespace

SmartWindow::SmartWindow(uint64_t seed, int64_t examples, double cache_rate, double replace_rate)
    : list_(seed, list_epoch, examples) {
  ensure(examples > 0 && cache_rate > 0 && cache_rate <= 1 && replace_rate > 0 && replace_rate <= 1);
  const double wanted = std::floor(static_cast<double>(examples) * cache_rate + rounding);
  size_ = std::clamp<int64_t>(static_cast<int64_t>(wanted), 1, examples);
  const double moving = std::ceil(static_cast<double>(size_) * replace_rate - rounding);
  replaced_ = std::min(static_cast<int64_t>(moving), examples - size_);
}

int64_t SmartWindow::example(int64_t epoch, int64_t place) const {
  ensure(epoch >= 0 && place >= 0 && place < size_);
  const int64_t begin = epoch % examples() * replaced_ % examples();
  return list_.at((begin + place) % examples());
}

bool SmartWindow::holds(int64_t epoch, int64_t example) const {
  const int64_t begin = epoch % examples() * replaced_ % examples();
  const int64_t behind = list_.place_of(example) - begin;
  return (behind + examples()) % examples() < size_;
}

int64_t SmartWindow::epochs_to_see_all() const {
  const int64_t outside = examples() - size_;
  return outside == 0 ? 1 : 1 + (outside + replaced_ - 1) / replaced_;
}

}  // namespace larmor
