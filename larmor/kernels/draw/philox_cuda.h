// The GPU's half of philox.cpp. A build without CUDA takes the twin that refuses.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace larmor {

enum class PhiloxNumbers { normal, uniform, kept };

/// Fills a contiguous tensor [N, …] of float32, or bool for `kept`.
void fill_on_gpu(PhiloxNumbers numbers, const at::Tensor& out, const at::Tensor& streams, uint64_t key,
                 uint64_t threshold);
/// out [N] int64
void fill_integers_on_gpu(const at::Tensor& out, const at::Tensor& streams, uint64_t key, int64_t limit);
/// Both of one floating type. Contiguous, or of each voxel so many channels lie side by side, which are all
/// that there are.
void drop_out_on_gpu(const at::Tensor& out, const at::Tensor& input, const at::Tensor& streams, uint64_t key,
                     uint64_t threshold, double scale, int64_t channels_side_by_side = 1);

}  // namespace larmor
