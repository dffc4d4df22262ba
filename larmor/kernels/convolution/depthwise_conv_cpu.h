// The loop of a depthwise convolution that libtorch leaves slow on CPUs: the gradient of its weights, of
// images with channels last. No libtorch: stretches of memory and sizes.
#pragma once

#include <cstdint>

namespace larmor::depthwise {

inline constexpr int64_t taps = 7;  // of the kernel along each axis; stride 1, padding 3

/// The shape of input and gradient alike, [samples, height, width, channels] as they lie.
struct Shape {
  int64_t samples, height, width, channels;
};

/// Requires of the channels: a multiple of so many.
inline constexpr int64_t fewest_lanes = 4;

/// A task is one row of the kernel for a block of channels. Tasks write different weights, so any threads may
/// share them in any way, and the bits are the same.
int64_t tasks_of(const Shape& shape);

/// of_weight [channels, taps, taps]: the sums of gradient times input, of tasks from `first` until before
/// `end`. A row of an image is added up in float32, rows in float64.
void differentiate_weights(const Shape& shape, const float* input, const float* gradient, int64_t first,
                           int64_t end, float* of_weight);

}  // namespace larmor::depthwise
