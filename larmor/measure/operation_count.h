// What the operators of a piece of work compute and move, counted while it runs.
#pragma once

#include <functional>

namespace larmor {

/// Floating-point operations: a multiplication and an addition are two. Only these three kinds are counted;
/// what else a network computes is bound by memory.
struct OperationCount {
  double convolution = 0;
  double product = 0;    // of matrices
  double attention = 0;  // of the fused operators; an attention of products counts as these
  /// Bytes moved, as if each operator read its inputs and wrote its outputs once; views move nothing.
  double bytes = 0;

  double operations() const { return convolution + product + attention; }
};

/// Runs `work` and counts what the operators of all threads do meanwhile. One call at a time.
OperationCount count_operations(const std::function<void()>& work);

}  // namespace larmor
