#include "larmor/kernels/draw/draw.h"

#include <ATen/ops/empty.h>

#include "larmor/base/ensure.h"
#include "larmor/base/seed.h"
#include "larmor/device/draw_position.h"
#include "larmor/kernels/draw/philox.h"

namespace larmor {

at::Tensor draw_normal_like(const at::Tensor& like, std::string_view purpose) {
  const DrawKeys keys = begin_draw(purpose, like.size(0), like.device());
  return philox_normal(keys.streams, keys.key, like.sizes()).to(like.scalar_type());
}

at::Tensor draw_uniform_like(const at::Tensor& like, std::string_view purpose) {
  const DrawKeys keys = begin_draw(purpose, like.size(0), like.device());
  return philox_uniform(keys.streams, keys.key, like.sizes()).to(like.scalar_type());
}

at::Tensor draw_kept_like(const at::Tensor& like, double keep, std::string_view purpose) {
  ensure(keep >= 0 && keep <= 1);
  const DrawKeys keys = begin_draw(purpose, like.size(0), like.device());
  return philox_kept(keys.streams, keys.key, like.sizes(), keep_threshold(keep));
}

at::Tensor draw_dropout(const at::Tensor& input, double keep, std::string_view purpose) {
  ensure(keep > 0 && keep <= 1);
  const DrawKeys keys = begin_draw(purpose, input.size(0), input.device());
  return philox_dropout(input, keys.streams, keys.key, keep_threshold(keep), 1 / keep);
}

at::Tensor draw_integers(int64_t below, std::string_view purpose, c10::Device device) {
  const DrawKeys keys = begin_draw(purpose, /*rows=*/-1, device);
  return philox_integers(keys.streams, keys.key, below);
}

at::Tensor draw_antithetic(int64_t below, std::string_view purpose, c10::Device device) {
  const DrawKeys keys = begin_draw(purpose, /*rows=*/-1, device);
  ensure(keys.pairs.defined());  // the DrawScope has to give positions
  const at::Tensor drawn = philox_integers(keys.pairs, keys.key, below);
  return drawn + keys.is_odd * (below - 1 - 2 * drawn);
}

at::Tensor draw_normal(uint64_t seed, std::string_view purpose, at::IntArrayRef sizes) {
  const at::Tensor normals = at::empty(sizes, at::TensorOptions().dtype(at::kFloat));
  fill_normal(make_key(seed, 0, 0, purpose),
              {normals.mutable_data_ptr<float>(), static_cast<size_t>(normals.numel())});
  return normals;
}

}  // namespace larmor
