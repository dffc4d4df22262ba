// What a loader's workers do: from the number of a micro-batch to its tensors.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "larmor/data/bad_file.h"
#include "larmor/data/dataset.h"
#include "larmor/data/loader/loader.h"
#include "larmor/data/loader/order.h"

namespace larmor {

/// A micro-batch and what happened on the way to it.
struct Prepared {
  Batch batch;               // empty after an error, or with more bad files than are allowed
  std::vector<BadFile> bad;  // whose places others have taken
  std::exception_ptr error;
};

/// Thread-safe.
class BatchSource {
 public:
  /// Borrows the dataset. Micro-batch 0 is the rank's first after `consumed` examples.
  BatchSource(const Dataset& dataset, ExampleOrder order, const BatchSlice& slice, int64_t consumed,
              const LoaderOptions& options);

  Prepared make(int64_t number);
  /// Lets every make() return after the example that it is at, with whatever it has.
  void stop() { stopping_ = true; }

 private:
  Batch assemble(int64_t number, std::vector<BadFile>& bad);
  /// The example at `position` or its substitute; nothing when too many are bad.
  std::optional<Sample> read(int64_t position, ExampleKey& key, std::vector<BadFile>& bad);
  std::optional<Sample> try_read(const ExampleKey& key, std::vector<BadFile>& bad);

  const Dataset& dataset_;
  const BatchSlice slice_;
  const int64_t consumed_;
  const LoaderOptions options_;
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;  // guards what follows
  ExampleOrder order_;
  std::map<int64_t, BadFile> bad_;  // the examples that have failed; they are not tried again
};

}  // namespace larmor
