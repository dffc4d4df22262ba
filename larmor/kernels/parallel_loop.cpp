#include "larmor/kernels/parallel_loop.h"

#include <cstddef>
#include <memory>

#include <ATen/Parallel.h>

#if defined(__GNUC__) && !defined(__clang__) && !defined(INTRA_OP_PARALLEL)
#error "at::parallel_for() would run on one thread: compile this source with -fopenmp"
#endif

namespace larmor {

void parallel_loop(int64_t begin, int64_t end, int64_t grain,
                   c10::function_ref<void(int64_t first, int64_t end)> body) {
  at::parallel_for(begin, end, grain, body);
}

void parallel_loop_with_memory(int64_t tasks, int64_t numbers,
                               c10::function_ref<void(int64_t first, int64_t end, float* memory)> body) {
  constexpr int64_t alignment = 64 / sizeof(float);
  parallel_loop(0, tasks, /*grain=*/1, [&](int64_t first, int64_t end) {
    const auto memory =
        std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(numbers + alignment));
    const auto beyond = reinterpret_cast<std::uintptr_t>(memory.get()) / sizeof(float) % alignment;
    body(first, end, memory.get() + (alignment - static_cast<int64_t>(beyond)) % alignment);
  });
}

}  // namespace larmor
