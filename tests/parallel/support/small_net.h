// A network small enough to train in a test, with what trips up gradient exchange: convolutions,
// normalisation, attention, a skip connection, a weight used twice, and one that is used only when asked.
// All of it goes through nn::run_block.
#pragma once

#include <string>
#include <vector>

#include <torch/nn.h>

namespace larmor::testing {

/// Attention of one head between all voxels, added to what came in.
class SmallAttentionImpl final : public torch::nn::Module {
 public:
  explicit SmallAttentionImpl(int64_t channels);
  at::Tensor forward(const at::Tensor& volume);

 private:
  torch::nn::Linear query_{nullptr}, key_{nullptr}, value_{nullptr};
};
TORCH_MODULE(SmallAttention);

class SmallNetImpl final : public torch::nn::Module {
 public:
  /// Weights depend on the seed alone.
  explicit SmallNetImpl(uint64_t seed, at::ScalarType type = at::kFloat);
  /// [N, 1, D, H, W] to [N, 1, D, H, W].
  at::Tensor forward(const at::Tensor& volume, bool with_rare = false);
  /// Those that every forward runs, in its order.
  std::vector<const torch::nn::Module*> blocks() const;

 private:
  torch::nn::Conv3d first_{nullptr}, second_{nullptr}, last_{nullptr};
  torch::nn::GroupNorm norm_{nullptr};
  SmallAttention attention_{nullptr};
  torch::nn::Linear rare_{nullptr};
};
TORCH_MODULE(SmallNet);

/// Judges volumes: a stand-in for a discriminator.
class SmallJudgeImpl final : public torch::nn::Module {
 public:
  explicit SmallJudgeImpl(uint64_t seed, at::ScalarType type = at::kFloat);
  at::Tensor forward(const at::Tensor& volume);
  std::vector<const torch::nn::Module*> blocks() const;

 private:
  torch::nn::Conv3d first_{nullptr}, last_{nullptr};
};
TORCH_MODULE(SmallJudge);

/// `count` volumes [count, 1, 4, 4, 4] that depend on the step alone.
at::Tensor make_batch(int64_t step, int64_t count, at::ScalarType type);

/// All parameters, one after the other.
at::Tensor flat_parameters(const torch::nn::Module& module);
double largest_difference(const at::Tensor& a, const at::Tensor& b);
/// `other` and `in_float32` are the same but for the order of their sums; `exact` is in float64.
void expect_but_for_rounding(const at::Tensor& other, const at::Tensor& in_float32, const at::Tensor& exact);

}  // namespace larmor::testing
