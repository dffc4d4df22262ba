// The linear layers of LPIPS 0.1 for SqueezeNet, as they were published.
#pragma once

#include <span>

namespace larmor::nn {

/// 2240 weights, none below 0: those of the taps one after the other, a weight a channel.
std::span<const float> lpips_linear_weights();

}  // namespace larmor::nn
