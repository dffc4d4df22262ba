#include "larmor/device/draw.h"

#include <utility>

#include <ATen/ATen.h>

#include "larmor/base/ensure.h"
#include "larmor/base/seed.h"

namespace larmor {

namespace {
thread_local DrawPosition current_position;

at::Tensor empty_rows(at::IntArrayRef sizes) {
  return at::empty(sizes, at::TensorOptions().dtype(at::kFloat));
}
}  // namespace

DrawScope::DrawScope(DrawPosition position)
    : previous_(std::exchange(current_position, std::move(position))) {}

DrawScope::~DrawScope() { current_position = std::move(previous_); }

const DrawPosition& draw_position() { return current_position; }

at::Tensor draw_normal_like(const at::Tensor& like, std::string_view purpose) {
  const auto& position = current_position;
  const auto rows = like.size(0);
  // The DrawScope around this call has to name the example of every row.
  ensure(rows == std::ssize(position.examples) && rows == std::ssize(position.epochs));
  if (like.is_meta()) return at::empty_like(like);
  // Drawn on the CPU in float32 whatever the device and type: the same numbers everywhere.
  const auto normals = empty_rows(like.sizes());
  const auto row_size = static_cast<size_t>(rows == 0 ? 0 : normals.numel() / rows);
  float* data = normals.data_ptr<float>();
  for (int64_t row = 0; row < rows; ++row) {
    const auto index = static_cast<size_t>(row);
    const auto key = make_key(position.seed, static_cast<uint64_t>(position.epochs[index]),
                              static_cast<uint64_t>(position.examples[index]), purpose);
    fill_normal(key, {data + index * row_size, row_size});
  }
  return normals.to(like.options());
}

at::Tensor draw_normal(uint64_t seed, std::string_view purpose, at::IntArrayRef sizes) {
  const auto normals = empty_rows(sizes);
  fill_normal(make_key(seed, 0, 0, purpose),
              {normals.data_ptr<float>(), static_cast<size_t>(normals.numel())});
  return normals;
}

}  // namespace larmor
