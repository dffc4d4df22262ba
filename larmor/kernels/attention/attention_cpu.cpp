#include "larmor/kernels/attention/attention_cpu.h"

namespace larmor::attentions {

int64_t forward_workspace(const Shape& shape) {
  const int64_t padded = shape.padded_width();
  const int64_t of_tile = 2 * padded * tile_queries + 2 * tile_queries;
  return tiles_of_task * of_tile + 2 * tile_keys * padded + tile_keys * tile_queries;
}

int64_t backward_workspace(const Shape& shape) {
  const int64_t padded = shape.padded_width();
  return 4 * shape.stretch_keys() * padded + 5 * padded * tile_queries + 2 * tile_queries +
         2 * tile_keys * tile_queries;
}

int64_t forward_tasks(const Shape& shape) {
  return shape.samples * shape.heads * ((shape.query_tiles() + tiles_of_task - 1) / tiles_of_task);
}

int64_t backward_tasks(const Shape& shape) { return shape.samples * shape.heads * shape.parts; }

int64_t adding_tasks(const Shape& shape) { return shape.samples * shape.heads * shape.query_tiles(); }

int64_t parts_of(const Shape& shape) {
  constexpr int64_t enough_tasks = 8, most = 4, tiles_of_part = 4;
  const int64_t heads = shape.samples * shape.heads;
  int64_t parts = (enough_tasks + heads - 1) / heads;
  if (parts > most) parts = most;
  if (parts > shape.key_tiles() / tiles_of_part) parts = shape.key_tiles() / tiles_of_part;
  return parts > 1 ? parts : 1;
}

}  // namespace larmor::attentions
