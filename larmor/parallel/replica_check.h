// Whether ranks that each hold the whole network still hold the same one. Bits that a device, its memory or a
// link has changed are seen by no other check: such a rank goes on with weights of its own, and each gradient
// that it sends moves the others.
#pragma once

#include "larmor/comm/communicator.h"
#include "larmor/parallel/agreement.h"

namespace larmor {

/// A number for each tensor, int64 [tensors], on their device: the sum of its elements' bits, taken as
/// integers, modulo 2^64. It does not depend on the order of elements, and differs wherever one bit does.
at::Tensor fingerprints_of(const TensorList& tensors);

/// Compares the fingerprints of all ranks. Throws Error (rank_lost) on every rank where they differ, with the
/// tensors and, of three ranks and more, those that most others do not agree with. The tensors lie on the
/// communicator's device. Collective.
void require_equal_replicas(const TensorList& tensors, Communicator& communicator);

}  // namespace larmor
