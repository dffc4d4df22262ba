// What a rank does for want of memory, the cheapest first: compute blocks again, cut states, gradients and
// weights into parts, keep the optimizer's states on the host.
#pragma once

#include <string>
#include <vector>

#include "larmor/plan/decisions.h"

namespace larmor {

/// One way to hold a micro-batch.
struct MemoryWay {
  Strategy strategy = Strategy::single;
  Recompute recompute = Recompute::none;
  bool offload_optimizer = false;
};

/// What was tried, and what came of it.
struct CheapestFit {
  MemoryWay way;
  int64_t micro_batch = 1;             // that has to fit
  MemoryEstimate memory;               // with it
  MemoryEstimate cheapest;             // of the first way that was tried
  std::vector<std::string> too_large;  // a sentence's part for each strategy that needs more than there is
  bool fits = true;
  bool activations_are_too_large = false;  // where none fits: weights and states would, with one example
};

/// The first of all ways that holds the smallest micro-batch that the request allows; where none does, one
/// that changes what is too large. `strategies` are the ones to try, the cheapest first; what the config
/// leaves at auto is free to be changed. Requires: precision, ranks and the wishes of read_exchange() are
/// decided.
CheapestFit find_cheapest_fit(const Question& question, const Plan& plan,
                              const std::vector<Strategy>& strategies);

}  // namespace larmor
