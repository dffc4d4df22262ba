// Radiographs as a volume sees them: features that are spread along their rays, tokens to attend to, and one
// vector of the whole.
#pragma once

#include <memory>
#include <vector>

#include <c10/core/Device.h>
#include <torch/nn/module.h>

#include "larmor/device/device_constant.h"
#include "larmor/nn/blocks/group_norm.h"
#include "larmor/nn/blocks/layer_weights.h"
#include "larmor/nn/networks/cascade_vit/cascade_vit_options.h"

namespace larmor::nn {

/// lifted [N, C, depth, rows, columns] of a view, its depth along the beam, to the volume's axes: anterior,
/// inferior and left. `angle` in degrees turns the beam about the long axis of the body: at 0 it points to
/// the anterior, at 90 to the right. Outside the view are zeros. Requires: the three sizes are equal.
at::Tensor along_volume_axes(const at::Tensor& lifted, double angle);

/// [V * rows * columns, 26]: where each token of each view lies on its detector, and how the view stands, in
/// sines and cosines.
at::Tensor view_positions(const std::vector<double>& angles, int64_t tokens);

/// A network of one view, which is told the angle: all views share its weights.
class XrayLifter final : public torch::nn::Module {
 public:
  XrayLifter(const CascadeVitOptions& options, c10::Device device);
  /// xrays [N, V, rows, columns] give: lifted [N, V * lifted_channels, g, g, g] with g places of the finest
  /// level; tokens [N, V * t * t, xray_channels]; and the whole [N, xray_channels].
  std::vector<at::Tensor> forward(const at::Tensor& xrays);

 private:
  class Residual;

  at::Tensor lifted_from(const at::Tensor& features, int64_t rows) const;

  CascadeVitOptions options_;
  DeviceConstant directions_, token_places_;  // of the views
  std::shared_ptr<LayerWeights> view_first_, view_second_, stem_, profile_, position_;
  std::vector<std::shared_ptr<Residual>> residual_;
  std::shared_ptr<GroupNorm> norm_;
};

}  // namespace larmor::nn
