#include "larmor/kernels/convolution/taps_conv.h"

#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/conv3d.h>

#include "larmor/base/ensure.h"

namespace larmor {
namespace {

using at::Tensor;

constexpr int64_t channels = 8, fewest_taps = 5;

/// [N, 1, D, H, W, taps] as [N, 8, D, H, W], zeros behind the taps.
Tensor as_channels(const Tensor& by_taps) {
  const Tensor all = at::constant_pad_nd(by_taps, {0, channels - by_taps.size(-1)});
  return all.squeeze(1).permute({0, 4, 1, 2, 3}).contiguous(at::MemoryFormat::ChannelsLast3d);
}

}  // namespace

bool takes_taps(const Conv3dForm& form, const Tensor& input, const Tensor& weight) {
  return input.is_cuda() && input.dim() == 5 && input.size(1) == 1 && weight.size(1) == 1 &&
         weight.size(4) >= fewest_taps && weight.size(4) <= channels &&
         c10::isReducedFloatingType(form.type) && form.path == ConvPath::libtorch &&
         form.layout == Layout::channels_last;
}

Tensor taps_conv(const Tensor& volumes, const Tensor& kernel, const Tensor& bias,
                 const std::array<int64_t, 3>& stride, const std::array<int64_t, 3>& padding) {
  const int64_t taps = kernel.size(4);
  ensure(volumes.size(1) == 1 && kernel.size(1) == 1 && taps <= channels);
  const Tensor windows = at::constant_pad_nd(volumes, {padding[2], padding[2]}).unfold(4, taps, stride[2]);
  // A row of the kernel [O, 1, d, h, w] becomes the channels of one voxel: [O, 8, d, h, 1].
  return at::conv3d(as_channels(windows), as_channels(kernel.unsqueeze(4)), bias, {stride[0], stride[1], 1},
                    {padding[0], padding[1], 0});
}

}  // namespace larmor
