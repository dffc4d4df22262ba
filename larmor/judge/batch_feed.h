// Batches on their way to a GPU, on a stream of their own: the next one is copied while this one is computed.
#pragma once

#include <memory>

#include <c10/core/Device.h>

#include "larmor/data/dataset.h"
#include "larmor/plan/kinds.h"

namespace larmor {

/// Memory for two batches, taken from the GPU once and used in turn; whoever keeps a batch for longer gets it
/// to itself, and the next batch new memory. Streams are put in order by events: no host waits. On a CPU
/// to_device() and nothing else. One thread.
class BatchFeed {
 public:
  BatchFeed(c10::Device device, Precision precision);
  ~BatchFeed();
  BatchFeed(const BatchFeed&) = delete;
  BatchFeed& operator=(const BatchFeed&) = delete;

  /// Begins to copy `host`, which take() will be asked for next. Nothing where its copy has begun already, or
  /// where the GPU has no room for a second batch: take() then copies it. `host` is read until take().
  void copy_ahead(const Batch& host);
  /// `host` as to_device() gives it, in order with what the current stream does next. The batch that was
  /// taken before is given up: its memory may be written once the current stream has come to here.
  Batch take(Batch host);
  /// Gives up all memory: what was copied ahead is copied again.
  void clear();

 private:
  struct State;
  std::unique_ptr<State> state_;  // null on a CPU
  c10::Device device_;
  Precision precision_;
};

}  // namespace larmor
