// The two networks of tests/golden/ae_*.safetensors, and training them as the stored curves were.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "larmor/nn/networks/autoencoder_kl/autoencoder_kl.h"

namespace larmor::testing {

/// 16, 32, 64 channels, no attention: ae_small and ae_small_curve.
nn::AutoencoderKlOptions small_options();
/// Two channels of image, attention everywhere: ae_attention.
nn::AutoencoderKlOptions attention_options();

/// The total loss of a step of curve `kind`: "mu_only" decodes the mean, "sampled" the sample.
at::Tensor curve_loss(nn::AutoencoderKl& network, const std::string& kind, int step, at::ScalarType type);

/// Trains for twenty steps of Adam from the stored weights. Returns the total loss of each step, before it,
/// where `before_step` is called too.
std::vector<double> train_twenty_steps(nn::AutoencoderKl& network, const std::string& kind,
                                       at::ScalarType type, const std::function<void(int)>& before_step = {});

}  // namespace larmor::testing
