// In which order examples are seen: the endless concatenation of one keyed permutation per epoch. A
// position is the number of examples consumed by all ranks together.
#pragma once

#include <cstdint>
#include <vector>

#include "larmor/data/dataset.h"

namespace larmor {

/// One thread.
class ExampleOrder {
 public:
  ExampleOrder(uint64_t seed, int64_t examples);
  /// The example at a global position. A global batch may straddle two epochs.
  ExampleKey at(int64_t position);
  int64_t examples() const { return examples_; }

 private:
  uint64_t seed_;
  int64_t examples_;
  int64_t epoch_ = -1;
  std::vector<int64_t> permutation_;
};

/// Which positions of global batch `step` rank `rank` takes for its micro-batch `micro`: consecutive
/// slices, ranks first, so that rank r of n and accumulation a see what one rank saw.
struct Share {
  int64_t global_batch = 1, micro_batch = 1, accumulation = 1;
  int rank = 0, ranks = 1;
  /// Global positions (examples consumed before, counted from the run's start).
  std::vector<int64_t> positions(int64_t consumed, int64_t micro) const;
};

}  // namespace larmor
