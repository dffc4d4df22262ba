#include "workloads/survival/risk/risk_network.h"

#include <c10/core/GradMode.h>

namespace larmor::survival {

RiskNetwork::RiskNetwork(const nn::ResNetOptions& options, int64_t covariates, c10::Device device)
    : nn::ResNetImpl(options, device) {
  if (covariates == 0) return;
  covariates_ = register_module("covariates", nn::linear_weights(covariates, 1, /*has_bias=*/false, device));
  covariates_->zero();
  const c10::NoGradGuard no_grad;
  named_parameters()["fc.weight"].zero_();
}

at::Tensor RiskNetwork::log_risk(const at::Tensor& features, const at::Tensor& covariates) {
  at::Tensor of_image = head(features).squeeze(1);
  return covariates_ ? of_image + nn::linear(covariates, *covariates_).squeeze(1) : of_image;
}

}  // namespace larmor::survival
