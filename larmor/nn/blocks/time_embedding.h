// How a U-Net of diffusion is told the time step. Source: Ho et al. 2020; Vaswani et al. 2017.
#pragma once

#include <cstdint>
#include <memory>

#include "larmor/nn/blocks/block.h"
#include "larmor/nn/blocks/layer_weights.h"

namespace larmor::nn {

/// Frequencies fall from 1 to 1/10000, or nearly: frequency i of h is 10000^(-i / h) in MONAI, whose cosines
/// come first, and 10000^(-i / (h - 1)) in DDPM, whose sines come first.
enum class Sinusoids { monai, ddpm };

/// times [N] give [N, width], float64: sines and cosines of the times at width / 2 frequencies, and a zero
/// behind them where the width is odd. Requires: width of at least 4.
at::Tensor sinusoidal_embedding(const at::Tensor& times, int64_t width, Sinusoids form);

/// Linear, SiLU, linear: sinusoids [N, in] to an embedding [N, out].
class TimeEmbedding final : public Block {
 public:
  /// `first` and `second` name the weights of the linear layers.
  TimeEmbedding(int64_t in, int64_t out, const char* first, const char* second, c10::Device device);
  at::Tensor forward(const at::Tensor& sinusoids) override;

 private:
  std::shared_ptr<LayerWeights> first_, second_;
};

}  // namespace larmor::nn
