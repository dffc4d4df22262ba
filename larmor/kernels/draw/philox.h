// Random tensors by the Philox generator, on the device where they are wanted: operators of libtorch's
// dispatcher (larmor::philox_*) for CPUs, GPUs and the meta device. Row n depends on (key, streams[n]) alone,
// and element i of it on i. Integers and masks have the same bits on every device; normals and uniforms too
// where the device's arithmetic is IEEE's.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace larmor {

/// streams [N] int64; sizes [N, …]. Standard normals, float32: what fill_normal() of base/seed.h gives a row.
at::Tensor philox_normal(const at::Tensor& streams, uint64_t key, at::IntArrayRef sizes);
/// Uniform in [0, 1), float32.
at::Tensor philox_uniform(const at::Tensor& streams, uint64_t key, at::IntArrayRef sizes);
/// bool: which elements a dropout keeps; `threshold` is that of keep_threshold().
at::Tensor philox_kept(const at::Tensor& streams, uint64_t key, at::IntArrayRef sizes, uint64_t threshold);
/// [N] int64 in [0, limit).
at::Tensor philox_integers(const at::Tensor& streams, uint64_t key, int64_t limit);
/// input [N, …] of any layout and floating type: what philox_kept() keeps times `scale`, zero elsewhere.
/// Keeps nothing of the input's size for backward, which makes the mask again. Differentiable any number of
/// times.
at::Tensor philox_dropout(const at::Tensor& input, const at::Tensor& streams, uint64_t key,
                          uint64_t threshold, double scale);

}  // namespace larmor
