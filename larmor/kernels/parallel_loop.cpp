#include "larmor/kernels/parallel_loop.h"

#include <ATen/Parallel.h>

#if defined(__GNUC__) && !defined(__clang__) && !defined(INTRA_OP_PARALLEL)
#error "at::parallel_for() would run on one thread: compile this source with -fopenmp"
#endif

namespace larmor {

void parallel_loop(int64_t begin, int64_t end, int64_t grain,
                   c10::function_ref<void(int64_t first, int64_t end)> body) {
  at::parallel_for(begin, end, grain, body);
}

}  // namespace larmor
