// SmartCache's schedule: which examples are in the window in which epoch. A pure function of the seed, the
// number of examples and two rates, so that every rank and every resumed run has the same.
// Source: MONAI's SmartCacheDataset, whose window is filled by readiness; ours follows the position.
#pragma once

#include <cstdint>

#include "larmor/base/keyed_permutation.h"

namespace larmor {

/// A window over the list of all examples, shuffled once and closed to a ring. It moves on by `replaced()`
/// places an epoch, so that each example comes into it.
class SmartWindow {
 public:
  /// The window takes floor(examples * cache_rate) of them, at least one; ceil(size * replace_rate) are
  /// replaced an epoch, at most as many as are outside. Requires: examples > 0; both rates in (0, 1].
  SmartWindow(uint64_t seed, int64_t examples, double cache_rate, double replace_rate);

  /// Examples in the window, which is what an epoch shows.
  int64_t size() const { return size_; }
  int64_t replaced() const { return replaced_; }
  int64_t examples() const { return list_.size(); }
  /// Requires: epoch >= 0, 0 <= place < size().
  int64_t example(int64_t epoch, int64_t place) const;
  /// Whether the example is in the window of the epoch.
  bool holds(int64_t epoch, int64_t example) const;
  /// Epochs until each example has been in it.
  int64_t epochs_to_see_all() const;

 private:
  KeyedPermutation list_;  // place -> example
  int64_t size_, replaced_;
};

}  // namespace larmor
