// The arithmetic of collectives.
#pragma once

#include <cstddef>
#include <vector>

#include <nccl.h>

namespace emulated {

/// Bytes of a number; 0: the type is not emulated.
size_t width_of(ncclDataType_t type);
bool is_emulated(ncclRedOp_t operation);

/// to[i] = all of parts[rank][i], in the order of the ranks. 16-bit numbers are added up in float32 and
/// rounded once.
void reduce(ncclDataType_t type, ncclRedOp_t operation, const std::vector<const void*>& parts, void* to,
            size_t count);

}  // namespace emulated
