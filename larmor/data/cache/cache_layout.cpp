#include "larmor/data/cache/cache_layout.h"

#include <algorithm>

#include "larmor/base/hash.h"

namespace larmor {

int64_t BrickGrid::number(int64_t channel, const GridSize& brick) const {
  return ((channel * along(0) + brick[0]) * along(1) + brick[1]) * along(2) + brick[2];
}

GridSize BrickGrid::size_of(const GridSize& brick) const {
  GridSize size{};
  for (std::size_t axis = 0; axis < 3; ++axis)
    size[axis] = std::min(edge, shape[axis + 1] - brick[axis] * edge);
  return size;
}

int64_t BrickGrid::begin_of(int64_t channel, const GridSize& brick) const {
  const GridSize size = size_of(brick);
  const int64_t planes = (channel * shape[1] + brick[0] * edge) * shape[2] * shape[3];
  const int64_t rows = size[0] * brick[1] * edge * shape[3];
  return planes + rows + size[0] * size[1] * brick[2] * edge;
}

uint64_t cache_hash(std::span<const std::byte> bytes) {
  return fast_hash({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace larmor
