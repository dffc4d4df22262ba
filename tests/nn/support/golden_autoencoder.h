// The two networks of tests/golden/ae_*.safetensors, and training them as the stored curves were.
#pragma once

#include <string>
#include <vector>

#include "larmor/nn/networks/autoencoder_kl/autoencoder_kl.h"

namespace larmor::testing {

/// 16, 32, 64 channels, no attention: ae_small and ae_small_curve.
nn::AutoencoderKlOptions small_options();
/// Two channels of image, attention everywhere: ae_attention.
nn::AutoencoderKlOptions attention_options();

/// Trains for twenty steps of Adam from the stored weights, with curve `kind`: "mu_only" decodes the mean,
/// "sampled" the sample. Returns the total loss of each step, before it.
std::vector<double> train_twenty_steps(nn::AutoencoderKl& network, const std::string& kind,
                                       at::ScalarType type);

}  // namespace larmor::testing
