// What a loss over a whole step is normalised by: the counts of all its micro-batches on all ranks.
#pragma once

#include <optional>

#include <ATen/core/Tensor.h>

#include "larmor/comm/communicator.h"

namespace larmor {

/// The sum over ranks of `own` [k], float64 and on the host. With `well` false on any rank there is none, and
/// every rank gets nothing. Collective. Blocks.
std::optional<at::Tensor> sum_counts(const at::Tensor& own, bool well, Communicator& communicator);

}  // namespace larmor
