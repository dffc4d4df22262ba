// The network of a risk: a 3-D ResNet, and beside its last layer one of the covariates.
#pragma once

#include <cstdint>
#include <memory>

#include "larmor/nn/blocks/layer_weights.h"
#include "larmor/nn/networks/resnet.h"

namespace larmor::survival {

/// The ResNet, name by name and bit by bit, where there are no covariates. With them `covariates.weight` [1,
/// covariates] stands beside `fc`: the log-risk is what the image says and a weighted sum of the covariates,
/// as if these were further features of the last layer. Both begin at 0, as coefficients of Cox's regression
/// do: an `fc` that is drawn gives images log-risks that differ by several, which no event supports and no
/// age outweighs.
class RiskNetwork final : public nn::ResNetImpl {
 public:
  RiskNetwork(const nn::ResNetOptions& options, int64_t covariates, c10::Device device);

  /// features [N, F] and covariates [N, covariates], which are not looked at where there are none: [N].
  at::Tensor log_risk(const at::Tensor& features, const at::Tensor& covariates);

 private:
  std::shared_ptr<nn::LayerWeights> covariates_;  // null without covariates
};

}  // namespace larmor::survival
