// The cases of a split as validation reads them: this rank's, in order, each once, ahead of time where loader
// threads do it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "larmor/data/bad_file.h"
#include "larmor/data/dataset.h"

namespace larmor {

/// Rank r of n reads cases r, r + n, …
struct SplitReaderOptions {
  uint64_t seed = 0;
  int rank = 0, ranks = 1;
  int workers = 0;      // 0: next() reads
  bool pinned = false;  // batches that threads read ahead lie in memory from which a GPU copies
};

/// One thread, apart from its own.
class SplitReader {
 public:
  struct Read {
    ExampleKey key;
    Batch batch;                 // of one row; empty where the case cannot be read
    std::optional<BadFile> bad;  // why it cannot
  };

  /// Borrows the dataset. Its threads send the heartbeats of the calling one.
  SplitReader(const Dataset& dataset, const SplitReaderOptions& options);
  ~SplitReader();

  /// Blocks. Nothing after the last case. Throws any error but Error (data), which is the case's.
  std::optional<Read> next();
  /// The batch of the case that next() will give, where a thread has it ready: null where next() would wait
  /// or fail, or where the case cannot be read. Does not block. Valid until the next call of next().
  const Batch* upcoming() const;
  /// The case that next() gives, or has failed to give.
  int64_t example() const;

 private:
  class Forgiving;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace larmor
