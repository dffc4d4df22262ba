// Which channel of each image is the target, and images with that channel exchanged.
#pragma once

#include <ATen/core/Tensor.h>

namespace larmor::fast_ddpm {

/// [N, C] bool: one channel of each row, drawn evenly from those that the row has; `present` [N, C] bool.
/// For the examples of this thread's DrawScope; on any device. Requires: each row has one at least.
at::Tensor draw_targets(const at::Tensor& present);

/// [N, C] bool of `rows` rows: channel `target` of each.
at::Tensor same_target(int64_t rows, int64_t channels, int64_t target, const at::Tensor& like);

/// The target channel of each row: [N, C, D, H, W] and [N, C] to [N, 1, D, H, W].
at::Tensor channel_of(const at::Tensor& image, const at::Tensor& is_target);
/// The image with `value` [N, 1, D, H, W] in place of each row's target.
at::Tensor with_channel(const at::Tensor& image, const at::Tensor& is_target, const at::Tensor& value);

}  // namespace larmor::fast_ddpm
