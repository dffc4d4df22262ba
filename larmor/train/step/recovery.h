// What becomes of a step that a rank cannot do: for want of memory, for examples that are of no use, or
// because it has failed. All ranks come out of it together, and decide alike.
#pragma once

#include "larmor/train/step/micro_batches.h"

namespace larmor {

class PassGraphs;

/// How a step is done again, from the loop's state as it was.
enum class Retry { none, without_bad_examples, with_less_memory };

/// One thread.
class Recovery {
 public:
  /// Borrows both.
  Recovery(Loop& loop, MicroBatches& batches) : loop_(loop), batches_(batches) {}

  /// Keeps the exception that is being handled as this rank's failure. What the rank says to the others.
  Votes note_failure();
  /// The same within a step: the others must wait for this rank neither within their networks nor in the
  /// collectives of the learners that are `active`, in which it takes part with zeros. Throws the failure
  /// where they would not come out of them.
  Votes fail_step(const std::vector<bool>& active);
  /// The others do not wait for this rank any more within a network's sums over ranks. Gives whether they
  /// notice.
  bool leave_sums();

  /// What becomes of the step by what all ranks have said. Bad files are shared where some rank has new ones.
  /// Throws the failure of this rank, where one is left, and Error (rank_lost) for that of another.
  /// Collective where the votes say that a rank has failed or has bad files.
  Retry retry_of(const Votes& votes);
  /// What the retry needs: micro-batches that are smaller, or without what is left out. Of memory that has
  /// run out `graphs` are given up first; they may be null. Throws Error (memory) where micro-batches cannot
  /// be smaller.
  void prepare(Retry retry, PassGraphs* graphs = nullptr);

 private:
  void take_less_memory(PassGraphs* graphs);
  std::string what_ran_out() const;
  [[noreturn]] void refuse_smaller_micro_batches(const std::string& what) const;

  Loop& loop_;
  MicroBatches& batches_;
  std::exception_ptr failure_;  // of this rank within the current step
};

}  // namespace larmor
