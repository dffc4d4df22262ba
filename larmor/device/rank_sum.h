// The hook by which a layer sums over all ranks: batch norm over the rows of every rank. The trainer sets it;
// without it a layer counts the rows of its own rank alone.
#pragma once

#include <ATen/core/Tensor.h>

namespace larmor {

class RankSum {
 public:
  virtual ~RankSum() = default;
  virtual int ranks() const = 0;
  /// Replaces `values` (contiguous, on the ranks' device) by their sum over all ranks. Blocks. Collective:
  /// forward and backward of every rank have to come here equally often.
  virtual void add_up(const at::Tensor& values) = 0;
};

/// The hook of this thread; null where none is set. Backward may run on another thread, so a layer asks in
/// forward and keeps the answer.
RankSum* rank_sum();

/// Sets this thread's hook to `sum`, or to none with null, until the scope ends. Borrows.
class RankSumScope {
 public:
  explicit RankSumScope(RankSum* sum);
  ~RankSumScope();
  RankSumScope(const RankSumScope&) = delete;
  RankSumScope& operator=(const RankSumScope&) = delete;

 private:
  RankSum* outer_;
};

}  // namespace larmor
