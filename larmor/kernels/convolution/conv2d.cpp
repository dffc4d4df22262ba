#include "larmor/kernels/convolution/conv2d.h"

#include <ATen/ops/conv2d.h>

#include "larmor/device/layout.h"
#include "larmor/kernels/convolution/conv3d.h"

namespace larmor {

at::Tensor conv2d(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias,
                  const std::array<int64_t, 2>& stride, const std::array<int64_t, 2>& padding) {
  if (!input.is_cpu()) return at::conv2d(input, weight, bias, stride, padding);
  const bool is_channels_last = !input.is_contiguous() && input.is_contiguous(at::MemoryFormat::ChannelsLast);
  const LayoutScope layout(is_channels_last ? Layout::channels_last : Layout::contiguous);
  constexpr int64_t depth = 2;
  return conv3d(input.unsqueeze(depth), weight.unsqueeze(depth), bias, {1, stride[0], stride[1]},
                {0, padding[0], padding[1]})
      .squeeze(depth);
}

}  // namespace larmor
