// A 3-D convolution as autoencoders and U-Nets have them, to measure how fast this device convolves.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace larmor {

/// Kernel 3³, stride 1, padding 1, as many channels out as in.
class ConvolutionProbe {
 public:
  /// A probe on a volume [1, channels, edge, edge, edge].
  ConvolutionProbe(int64_t channels, int64_t edge, const at::TensorOptions& options);

  /// The time of one forward and backward, in layout_here().
  double seconds() const;
  /// Floating-point operations of one forward and backward: a multiplication and an addition are two.
  double operations() const;

 private:
  at::Tensor volume_, kernel_;
};

}  // namespace larmor
