#include "larmor/kernels/convolution/winograd_cpu.h"

#include <algorithm>

namespace larmor::winograd {

int64_t workspace(const Shape& shape) { return points * (point_step(shape.in) + point_step(shape.out)); }

// A part is worth the sums that it needs where it has several blocks. All sums together shall not take more
// memory than volumes of a usual size do. A power of two: threads, which mostly are one, have equal shares
// then.
int64_t parts_of(const Shape& shape) {
  constexpr int64_t fewest_blocks = 8, most_parts = 16, most_sums = int64_t{1} << 22;
  const int64_t most =
      std::min({shape.blocks() / fewest_blocks, most_sums / (points * kernel_step(shape)), most_parts});
  int64_t parts = 1;
  while (2 * parts <= most) parts *= 2;
  return parts;
}

}  // namespace larmor::winograd
