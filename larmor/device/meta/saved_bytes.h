// How much memory graphs hold for backward.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include "larmor/device/memory/saved_tensors.h"

namespace larmor {

/// Counts what operators of this thread save for backward while it lives: each storage once, whatever shares
/// it, for as long as a graph holds it. On the meta device that is what they would save, where
/// register_meta_kernels() has been called. Workspaces are not saved and so not counted. Where a block is run
/// again in backward, only its inputs are. Autograd does not notice meanwhile when a saved tensor is changed
/// in place.
class SavedBytes {
 public:
  /// Counts without the storages of `others`: weights, buffers, the batch, which are there anyway.
  explicit SavedBytes(const std::vector<at::Tensor>& others = {});

  /// Held by graphs now.
  int64_t bytes() const;
  /// Held by graphs or by `tensors` now: a step's losses, which nothing has saved.
  int64_t bytes_with(const std::vector<at::Tensor>& tensors) const;

 private:
  class Ledger;
  std::shared_ptr<Ledger> ledger_;  // shared with the graphs, which may outlive this
  SavedTensorScope scope_;
};

}  // namespace larmor
