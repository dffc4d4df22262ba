// The U-Net that segments. Source: Falk et al. 2019; monai.networks.nets.BasicUNet (1.6), whose weights have
// the same names where there are six numbers of features.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "larmor/nn/blocks/conv_block.h"

namespace larmor::segmentation {

class Convolution;  // with instance norm and LeakyReLU
class Doubling;     // of the resolution

class BasicUnet final : public torch::nn::Module {
 public:
  /// `features`: channels of each resolution from the finest on, and behind them those before the last
  /// convolution; all even. Weights are drawn from libtorch's default generator; none on c10::kMeta.
  BasicUnet(int64_t in_channels, int64_t out_channels, const std::vector<int64_t>& features,
            c10::Device device);
  /// image [N, in, D, H, W], each axis a multiple of size_divisor(), gives [N, out, D, H, W].
  at::Tensor forward(const at::Tensor& image);
  /// Voxels that each axis is a multiple of.
  static int64_t size_divisor(const std::vector<int64_t>& features);

 private:
  using TwoConvolutions = nn::BlockList<Convolution>;
  TwoConvolutions two_convolutions(torch::nn::Module& parent, int64_t in, int64_t out, c10::Device device);

  std::vector<TwoConvolutions> encoder_, decoder_;  // from the finest resolution on
  nn::BlockList<Doubling> doublings_;               // likewise
  std::shared_ptr<nn::ConvBlock> last_;
};

}  // namespace larmor::segmentation
