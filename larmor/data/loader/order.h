// In which order examples are seen: the endless concatenation of one keyed permutation per epoch, of all
// examples or of those in SmartCache's window. A position is the number of examples consumed by all ranks
// together.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "larmor/config/run_config.h"
#include "larmor/data/cache/smart_window.h"
#include "larmor/data/dataset.h"
#include "larmor/data/loader/quota.h"

namespace larmor {

/// A value of a few hundred bytes, besides the lists of a quota. Thread-safe.
class ExampleOrder {
 public:
  /// `together` examples in a row are never parted: crops of one volume, which is then read once for all of
  /// them. Throws Error (data) when there are no examples. Requires: together divides examples.
  ExampleOrder(uint64_t seed, int64_t examples, int64_t together = 1);
  /// An epoch is the window, whose places are `together` examples each.
  ExampleOrder(uint64_t seed, SmartWindow window, int64_t together = 1);
  /// Two endless orders, of the quota's members and of the others, dealt out as it says; a key's epoch is
  /// then that of its own kind.
  ExampleOrder(uint64_t seed, int64_t examples, Quota quota);
  /// The example at a global position. A global batch may straddle two epochs. Requires: position >= 0
  ExampleKey at(int64_t position) const { return substitute(position, 0); }
  /// Who stands in for the example at `position` when it and those before this one cannot be read: the one
  /// `places` further in the same epoch, from the end on to the beginning. The same on every rank.
  ExampleKey substitute(int64_t position, int64_t places) const;
  /// The number of examples of an epoch.
  int64_t examples() const { return examples_; }

 private:
  ExampleKey by_quota(int64_t position, int64_t places) const;

  uint64_t seed_;
  int64_t examples_, examples_per_case_;
  std::optional<SmartWindow> window_;
  std::optional<Quota> quota_;
};

/// The order that the config asks for. Throws Error (data) when there are no examples.
ExampleOrder make_order(const DataConfig& data, uint64_t seed, int64_t examples, int64_t together = 1);
inline ExampleOrder make_order(const DataConfig& data, uint64_t seed, const Dataset& dataset) {
  return make_order(data, seed, dataset.size(), dataset.examples_per_case());
}

/// Which positions of a global batch one rank takes for one of its micro-batches. A global batch covers the
/// positions [consumed, consumed + global_batch). Rank r of n owns the r-th of n equal consecutive slices,
/// and cuts it into `accumulation` consecutive micro-batches. One rank with accumulation 4, two with 2 and
/// four with 1 therefore see the same micro-batches; only who sees them and when differs.
struct BatchSlice {
  int64_t global_batch = 1, micro_batch = 1, accumulation = 1;
  int rank = 0, ranks = 1;
  /// Global positions (examples consumed before, counted from the run's start).
  /// Requires: global_batch == micro_batch * accumulation * ranks, 0 <= micro < accumulation
  std::vector<int64_t> positions(int64_t consumed, int64_t micro) const;
};

}  // namespace larmor
