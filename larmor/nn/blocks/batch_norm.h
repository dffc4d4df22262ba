// Batch norm, of this rank's rows or of all ranks' rows, alone or with ReLU behind it.
#pragma once

#include <cstdint>

#include <c10/core/Device.h>

#include "larmor/nn/blocks/norm_block.h"

namespace larmor {
struct BatchMoments;
}

namespace larmor::nn {

/// PyTorch's BatchNorm with its names, and with eps 1e-5 and momentum 0.1: the biased variance normalises,
/// the unbiased one is remembered.
///
/// In training, with the hook for sums over ranks (device/rank_sum.h) set and more than one rank, mean,
/// variance and their gradients are those of all ranks' rows, as one rank would have them; ranks may have
/// different numbers of rows, also none. Every forward is then collective, and so is its backward unless the
/// input needs no gradient; the RankSum of forward has to live until then. The gradients of weight and bias
/// are this rank's part of them. Sums travel in float64, one collective each way. Weight and bias may be
/// narrower than the running statistics, as ZeRO in mixed precision has them. Source: Ioffe and Szegedy 2015;
/// torch.nn.SyncBatchNorm.
class BatchNorm final : public NormBlock {
 public:
  explicit BatchNorm(int64_t channels, c10::Device device = c10::kCPU, Behind behind = Behind::nothing);
  /// input [N, C, D, H, W], or with other axes behind C. Throws Error (usage) in training when the rows of
  /// a rank on its own come down to a single value a channel.
  at::Tensor forward_onto(const at::Tensor& input, const at::Tensor& residual) override;

 private:
  void remember(const BatchMoments& moments);

  Behind behind_;
  at::Tensor weight_, bias_, running_mean_, running_var_;  // [C]
  at::Tensor num_batches_tracked_;                         // []
};

}  // namespace larmor::nn
