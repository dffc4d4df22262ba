// Random tensors that belong to examples: row n of a batch depends on (run seed, epoch, example n, purpose,
// turn) alone, so any split of the batch over ranks, micro-batches or workers draws the same numbers. They
// are made on the device where they are wanted. Every function asks for a DrawScope with as many examples as
// there are rows, and draws for a purpose once a turn (begin_draw() of device/draw_position.h).
#pragma once

#include <cstdint>
#include <string_view>

#include <ATen/core/Tensor.h>

namespace larmor {

/// Standard normals shaped, typed and placed like `like` [N, …], contiguous; drawn in float32 and converted.
at::Tensor draw_normal_like(const at::Tensor& like, std::string_view purpose);
/// Uniform in [0, 1), 24 bits, shaped, typed and placed like `like` [N, …], contiguous.
at::Tensor draw_uniform_like(const at::Tensor& like, std::string_view purpose);
/// bool, shaped and placed like `like` [N, …]: true with probability `keep`. Requires: 0 <= keep <= 1
at::Tensor draw_kept_like(const at::Tensor& like, double keep, std::string_view purpose);
/// `input` [N, …] where draw_kept_like() would be true, times 1 / keep, and zero elsewhere; in input's
/// layout. Backward makes the mask again instead of keeping it. Requires: 0 < keep <= 1
at::Tensor draw_dropout(const at::Tensor& input, double keep, std::string_view purpose);

/// [N] int64, uniform in [0, below). The same on every device. Requires: below > 0
at::Tensor draw_integers(int64_t below, std::string_view purpose, c10::Device device = c10::kCPU);
/// [N] int64: t for the examples at even positions of the run and below - 1 - t for those behind them, so
/// that the two of a pair lie on both sides of the middle. Each alone is uniform in [0, below). Requires: a
/// DrawScope with positions; below > 0
at::Tensor draw_antithetic(int64_t below, std::string_view purpose, c10::Device device = c10::kCPU);

/// Fills a module's or a loop's one-off tensor: normals keyed by (seed, purpose), no example and no scope.
at::Tensor draw_normal(uint64_t seed, std::string_view purpose, at::IntArrayRef sizes);

}  // namespace larmor
