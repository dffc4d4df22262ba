// The door through which a layer looks beyond the rows of its own rank: batch norm over all ranks. Whoever
// trains opens it; a layer that finds it closed counts its own rows alone.
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

/// This thread's; null where it is closed. Backward may run on another thread: a layer that asks in forward
/// keeps the answer.
RankSum* rank_sum();

/// Opens this thread's door to `sum`, or closes it with null, until the end of life. Borrows.
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
