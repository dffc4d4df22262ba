// Worker threads that prepare this rank's micro-batches ahead of time. Workers hold no state: what a
// batch contains is a function of its position.
#pragma once

#include <cstdint>
#include <memory>

#include "larmor/data/dataset.h"
#include "larmor/data/order.h"

namespace larmor {

struct LoaderOptions {
  int workers = 1;    // 0: the caller's thread does the work
  int prefetch = 2;   // micro-batches ready ahead
  bool pinned = false;
  /// Files that may fail before training stops; a failed example is replaced by the next of its epoch.
  int64_t bad_files = 0;
};

class Loader {
 public:
  /// Borrows the dataset. Starts at `consumed` examples (global).
  Loader(const Dataset& dataset, ExampleOrder order, Share share, int64_t consumed, const LoaderOptions& options);
  ~Loader();
  Loader(const Loader&) = delete;

  /// Blocks. The next micro-batch of this rank. An error of a worker is thrown here.
  Batch next();
  /// Seconds that next() has waited since the last call of this.
  double take_wait_seconds();
  /// Examples consumed by all ranks once every micro-batch handed out so far is trained on.
  int64_t consumed() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace larmor
