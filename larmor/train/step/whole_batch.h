// A step of a loss over all its examples: forward over this rank's micro-batches, the loss of all ranks' rows
// and its gradient on them, and what is left to send backward through each micro-batch.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "larmor/comm/communicator.h"
#include "larmor/task/pass.h"
#include "larmor/task/task.h"
#include "larmor/train/step/kept_buffers.h"

namespace torch::nn {
class Module;
}

namespace larmor {

struct WholeBatchOptions {
  int64_t accumulation = 1;
  PassOptions pass = {};
  /// Copies a batch from the host to the device; null: to_device().
  std::function<Batch(Batch)> take = nullptr;
};

/// The loss of one step: forward() for each micro-batch, gather(), share_of() for each. With one micro-batch
/// its graph is kept; with several they are run without graph first and once more in share_of(), so that
/// memory holds one of them at a time; running statistics see each once.
class WholeBatch {
 public:
  /// Borrows all. The task's network is the one whose buffers forward() changes.
  WholeBatch(WholeBatchLoss& loss, const torch::nn::Module& network, const WholeBatchOptions& options);

  /// `batch` best on the host, as the loader has it: then no host waits for a device to read the targets.
  void forward(Batch batch, const StepContext& context);
  /// Computes the loss over the rows of all ranks, in the order of ranks and their micro-batches, which is
  /// that of positions; in float64 when the rows are, otherwise in float32. Rows meet on the device, by
  /// `communicator`, and no host waits for them; targets, in float64, by `on_host`, a group of the same ranks
  /// for tensors of the host. With `well` false on any rank nothing is computed, and every rank gets false.
  /// Collective. Blocks for the other ranks' hosts.
  bool gather(bool well, const StepContext& context, Communicator& communicator, Communicator& on_host);
  /// A scalar on the device, without gradient. Requires: gather() gave true.
  const at::Tensor& loss() const { return loss_value_; }
  /// A scalar whose gradients, summed over micro-batches and averaged over ranks, are those of the loss.
  /// Requires: gather() gave true.
  at::Tensor share_of(int64_t micro, const StepContext& context);

 private:
  /// The rows of all ranks, of which each has so many.
  at::Tensor gathered_rows(const std::vector<int64_t>& counts, Communicator& communicator) const;

  WholeBatchLoss& loss_;
  const torch::nn::Module& network_;
  const WholeBatchOptions options_;
  std::vector<Batch> batches_;
  std::vector<at::Tensor> rows_, targets_, gradients_;  // one a micro-batch; targets on the host
  std::optional<KeptBuffers> kept_;
  at::Tensor loss_value_;
  double ranks_ = 1;
};

}  // namespace larmor
