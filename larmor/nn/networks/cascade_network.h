// What the stages of a cascade from radiographs to volumes ask of a network.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

namespace larmor::nn {

struct CascadeInput {
  at::Tensor noisy;           // [N, 1, D, H, W]
  at::Tensor time;            // [N], as a share of the noise schedule's times, in [0, 1]
  at::Tensor xrays;           // [N, views, rows, columns]
  at::Tensor previous = {};   // [N, 1, D, H, W]: the earlier stage's volume; undefined where there is none
  at::Tensor augmented = {};  // [N]: the level of the noise in `previous`, in [0, 1]; undefined without one
};

class CascadeNetwork : public torch::nn::Module {
 public:
  /// What the prediction type asks for, [N, 1, D, H, W]. Throws Error (data) where shapes do not fit.
  virtual at::Tensor denoise(const CascadeInput& input) = 0;
};

}  // namespace larmor::nn
