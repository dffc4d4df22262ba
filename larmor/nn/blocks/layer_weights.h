// The weight and the bias of a convolution or a linear layer, which libtorch's modules cannot make on a
// device that is given to them.
#pragma once

#include <cstdint>
#include <memory>

#include <c10/core/Device.h>
#include <torch/nn/module.h>

namespace larmor::nn {

/// Parameters `weight` and, where there is one, `bias`; a network registers it under the layer's name.
class LayerWeights final : public torch::nn::Module {
 public:
  /// weight [out, in, …], bias [out]. PyTorch's default initialisation, drawn from libtorch's default
  /// generator as torch::nn::Conv3d and torch::nn::Linear draw it; on c10::kMeta nothing is drawn or stored.
  LayerWeights(at::IntArrayRef weight_sizes, bool has_bias, c10::Device device);

  /// Makes all weights zero, for a layer that begins as the zero function.
  void zero();
  /// Draws for networks of transformers: weights normal around 0, from libtorch's default generator, biases
  /// 0.
  void draw_normal(double deviation);

  const at::Tensor& weight() const { return weight_; }
  const at::Tensor& bias() const { return bias_; }  // undefined where there is none

 private:
  at::Tensor weight_, bias_;
};

/// Those of a linear layer from `in` numbers to `out`, and the layer: [..., in] to [..., out].
std::shared_ptr<LayerWeights> linear_weights(int64_t in, int64_t out, bool has_bias, c10::Device device);
at::Tensor linear(const at::Tensor& input, const LayerWeights& weights);

}  // namespace larmor::nn
