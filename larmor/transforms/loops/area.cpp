#include "larmor/transforms/loops/area.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <ATen/ops/empty.h>

namespace larmor {

namespace {

/// One axis of a dense array: `outer` slabs of `size` rows of `inner` floats each.
struct Rows {
  int64_t outer = 1, size = 1, inner = 1;
};

void add_row(const float* row, int64_t count, float* __restrict sum) {
  for (int64_t i = 0; i < count; ++i) sum[i] += row[i];
}

void average_rows(const float* source, const Rows& rows, int64_t size, float* target) {
  for (int64_t slab = 0; slab < rows.outer; ++slab, source += rows.size * rows.inner) {
    for (int64_t i = 0; i < size; ++i, target += rows.inner) {
      const int64_t begin = i * rows.size / size, end = ((i + 1) * rows.size + size - 1) / size;
      std::copy_n(source + begin * rows.inner, rows.inner, target);
      for (int64_t row = begin + 1; row < end; ++row) add_row(source + row * rows.inner, rows.inner, target);
      const float share = 1.0F / static_cast<float>(end - begin);
      for (int64_t k = 0; k < rows.inner; ++k) target[k] *= share;
    }
  }
}

}  // namespace

at::Tensor average(const at::Tensor& voxels, const GridSize& size) {
  // Slowest axis first: whole rows are added up, and little is left for the fastest one.
  std::vector<int64_t> order{1, 2, 3};
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return voxels.stride(a) > voxels.stride(b); });
  at::Tensor present = voxels.permute({0, order[0], order[1], order[2]}).contiguous();
  for (int64_t axis = 1; axis < 4; ++axis) {
    auto sizes = present.sizes().vec();
    const auto wanted = size[static_cast<size_t>(order[static_cast<size_t>(axis - 1)] - 1)];
    if (sizes[static_cast<size_t>(axis)] == wanted) continue;
    Rows rows;
    for (int64_t i = 0; i < axis; ++i) rows.outer *= present.size(i);
    for (int64_t i = axis + 1; i < 4; ++i) rows.inner *= present.size(i);
    rows.size = present.size(axis);
    sizes[static_cast<size_t>(axis)] = wanted;
    at::Tensor next = at::empty(sizes, present.options());
    average_rows(present.const_data_ptr<float>(), rows, wanted, next.mutable_data_ptr<float>());
    present = next;
  }
  std::vector<int64_t> back{0, 0, 0, 0};
  for (int64_t axis = 1; axis < 4; ++axis)
    back[static_cast<size_t>(order[static_cast<size_t>(axis - 1)])] = axis;
  return present.permute(back);
}

}  // namespace larmor
