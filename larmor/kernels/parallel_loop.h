// Loops over many threads. at::parallel_for() is a template that runs on one thread wherever the compiler was
// not told of OpenMP, without a word; here it is compiled once, by a source that is told (CMakeLists.txt).
#pragma once

#include <cstdint>

#include <c10/util/FunctionRef.h>

namespace larmor {

/// Calls body(first, end) for parts of [begin, end) that have at least `grain` elements each, at the same
/// time on as many threads as at::get_num_threads() says; on the calling thread alone from within another
/// such loop, and in a build by clang++, which has no OpenMP here. Throws what a body throws, once all have
/// ended. Source: at::parallel_for.
void parallel_loop(int64_t begin, int64_t end, int64_t grain,
                   c10::function_ref<void(int64_t first, int64_t end)> body);

/// Calls body(first, end, memory) for parts of [0, tasks), as parallel_loop() does: each with `numbers` of
/// its own, not cleared, at an address that 64 divides.
void parallel_loop_with_memory(int64_t tasks, int64_t numbers,
                               c10::function_ref<void(int64_t first, int64_t end, float* memory)> body);

}  // namespace larmor
