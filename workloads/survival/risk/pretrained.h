// Weights of other ResNets as the start of a risk network.
#pragma once

#include <string>

#include "larmor/device/tensors/pretrained.h"

namespace larmor::survival {

/// start_from() of device/tensors/pretrained.h for a ResNet under MONAI's or MedicalNet's names. `fc.*`,
/// MedicalNet's decoder `conv_seg.*` and `covariates.*` are not taken: they answer another question. What it
/// says of a file that does not fit names the keys of the config that would.
StartReport start_from(torch::nn::Module& network, const NamedTensors& tensors, const std::string& source);

}  // namespace larmor::survival
