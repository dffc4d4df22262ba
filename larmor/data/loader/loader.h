// Worker threads that prepare this rank's micro-batches ahead of time. Workers hold no state: what a
// batch contains is a function of its position.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "larmor/base/load_clock.h"
#include "larmor/data/bad_file.h"
#include "larmor/data/dataset.h"
#include "larmor/data/loader/order.h"

namespace larmor {

struct LoaderOptions {
  int workers = 1;   // 0: the caller's thread does the work
  int prefetch = 2;  // micro-batches ready ahead; no fewer than there are workers
  bool pinned = false;
  /// Files that may fail on this rank before training stops; a failed example is replaced by the next of its
  /// epoch, on every rank by the same.
  int64_t bad_files = 0;
  /// Examples that are known to be of no use, and why: they are not tried.
  std::map<int64_t, BadFile> known_bad = {};
  /// Called on a worker's thread when it has an example, and within one after each stage: a heartbeat.
  std::function<void()> goes_on = [] {};
};

/// One thread, apart from its own.
class Loader {
 public:
  /// Borrows the dataset. Starts at `consumed` examples (global).
  Loader(const Dataset& dataset, ExampleOrder order, BatchSlice slice, int64_t consumed,
         const LoaderOptions& options);
  /// Waits for no more than the example that each worker is at.
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  /// Blocks. The next micro-batch of this rank. An error of a worker is thrown here, when its batch's turn
  /// comes, and again by every later call. Throws Error (data) with all files once more than
  /// `bad_files` have failed.
  Batch next();
  /// What next() will give, where a worker has it ready: null where next() would wait or fail. It counts as
  /// handed out only by next(). Does not block. Valid until the next call of next().
  const Batch* upcoming() const;
  /// Seconds that next() has waited since the last call of this.
  double take_wait_seconds();
  /// What the workers spent on each stage since the last call of this, all of them together.
  LoadSeconds take_stage_seconds();
  /// Examples consumed by all ranks once every micro-batch handed out so far is trained on.
  int64_t consumed() const;
  /// The files that failed in the batches handed out so far, in the order in which they were met.
  const std::vector<BadFile>& quarantine() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace larmor
