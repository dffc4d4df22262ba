// Sums of batch norm over all ranks, over a process group of their own.
#pragma once

#include <memory>

#include <ATen/core/Tensor.h>

#include "larmor/comm/communicator.h"
#include "larmor/device/rank_sum.h"

namespace larmor {

/// Sums within forward and backward, which may come between the gradients' collectives: those are under
/// way on another group. Over NCCL a sum only orders streams, and does not hold up the host.
class RankSums final : public RankSum {
 public:
  /// The sums of the communicator's ranks. Borrows it. Collective.
  explicit RankSums(Communicator& communicator);

  int ranks() const override;
  /// Throws Error (rank_lost) when a rank has left.
  void add_up(const at::Tensor& values) override;

  /// Called for a rank whose forward or backward has failed, for example because a peer's contribution is
  /// missing: it is unknown how many sums it still owes, and those of the others fail from here on. False
  /// where they cannot notice (NCCL): then only this rank's end helps them, and it must not wait for them.
  [[nodiscard]] bool leave();
  /// Called after a step that a rank has left, so that sums can be taken again. Collective.
  void join_again();

 private:
  Communicator& communicator_;
  std::unique_ptr<Communicator> group_;
};

}  // namespace larmor
