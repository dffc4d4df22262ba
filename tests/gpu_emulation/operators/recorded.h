// Operators that a capture records, for a graph to repeat.
#pragma once

#include <cuda_runtime_api.h>

#include "tests/gpu_emulation/operators/computation.h"

namespace emulated {

/// Throws, where the stream is captured, what a card's runtime throws at operators that no graph can hold.
void check_recordable(const Call& call, cudaStream_t stream, bool makes_host_wait);

/// Has the graph repeat the call, as it was made, over the same memory: it reads what is there by then.
/// Requires: the work is captured, and the call was performed by it.
void record(Work& work, const Call& call, const Results& results);

}  // namespace emulated
