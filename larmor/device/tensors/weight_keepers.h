// The keepers of a thread's blocks (run_block.h), for work that goes on on another thread. Implemented where
// they are kept, in run_block.cpp.
#pragma once

#include <vector>

#include "larmor/device/run_block.h"

namespace larmor {

/// Those that are attached to this thread's blocks.
std::vector<WeightKeeper*> weight_keepers();

/// Attaches these, and no others, to the blocks of this thread until the scope ends.
class WeightKeepersAgain {
 public:
  explicit WeightKeepersAgain(std::vector<WeightKeeper*> keepers);
  ~WeightKeepersAgain();
  WeightKeepersAgain(const WeightKeepersAgain&) = delete;
  WeightKeepersAgain& operator=(const WeightKeepersAgain&) = delete;

 private:
  std::vector<WeightKeeper*> outer_;
};

}  // namespace larmor
