// The arithmetic of collectives.
#pragma once

#include <cstddef>
#include <vector>

#include <nccl.h>

namespace emulated {

/// Bytes of a number; 0: the type is not emulated.
size_t width_of(ncclDataType_t type);
bool is_emulated(ncclRedOp_t operation);

/// A stretch of numbers that are added up in one order of the ranks.
struct Stretch {
  size_t begin, end;  // counted from the first of the numbers that were asked for
  std::vector<size_t> order;
};
struct Whole {
  size_t count, width, ranks;
};
/// The orders for `count` numbers from `first` on of a whole: that of the ranks, or, where EMULATED_NCCL_SUMS
/// is ring, that of Gloo's ring, so that sums over more than two ranks are those of CPUs to the last bit. Any
/// order is one that NCCL may take.
std::vector<Stretch> sums_of(size_t first, size_t count, const Whole& whole);

/// to[i] = all of parts[rank][i], in their order. 16-bit numbers are added up in float32 and
/// rounded once.
void reduce(ncclDataType_t type, ncclRedOp_t operation, const std::vector<const void*>& parts, void* to,
            size_t count);

}  // namespace emulated
