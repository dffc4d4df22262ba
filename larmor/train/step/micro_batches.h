// This rank's micro-batches on their way from the loader to the device.
#pragma once

#include <deque>

#include "larmor/judge/batch_feed.h"
#include "larmor/train/loop.h"
#include "larmor/train/step/data_wait.h"

namespace larmor {

/// One thread.
class MicroBatches {
 public:
  /// Reads from where training is. Borrows the loop, whose bad examples hear of files that cannot be read.
  explicit MicroBatches(Loop& loop);

  /// The next one, on the host: the first of those that are kept, or the loader's next. Blocks. Throws what
  /// Loader::next() does.
  Batch read();
  /// Keeps the loader's next one, which read() gives when those before it are read. Blocks; throws likewise.
  const Batch& keep_next();
  /// What read() gave, on the device; the next one begins to be copied where it is ready.
  Batch send(Batch host);
  /// Begins to copy the next one where no worker had it ready before.
  void copy_ahead();
  /// Goes on by another loader from where training is, by the loop's plan and without the examples that are
  /// left out. Memory is given back in between.
  void open_again();
  /// Files that the loader could not read go to the loop's bad examples.
  void note_bad_files() { loop_.bad.add(loader_->quarantine()); }

  /// A step has taken so long: the seconds of it that have been waited for data.
  double note_step(double seconds);
  /// DataWait::verdict().
  std::string verdict_on_waits() { return wait_.verdict(); }
  BatchFeed& feed() { return feed_; }

 private:
  Batch from_loader();

  Loop& loop_;
  std::unique_ptr<Loader> loader_;
  BatchFeed feed_;
  std::deque<Batch> kept_;
  DataWait wait_;
};

}  // namespace larmor
