// Weights of timm and of transformers as the start of the encoders, and how their layers learn.
#pragma once

#include <string>
#include <vector>

#include "larmor/device/tensors/pretrained.h"
#include "larmor/task/task.h"

#include "workloads/xray_vqa/training/vqa_config.h"

namespace larmor::xray_vqa {

/// start_from() of device/tensors/pretrained.h for a ConvNeXt of timm, a classifier's or a features
/// network's; its head and last norm are not taken. Throws Error as start_from, and usage for an encoder of
/// another kind.
StartReport start_image_encoder(VqaNetworkImpl& network, const NamedTensors& tensors,
                                const std::string& source);
/// The same for a BERT of transformers, with or without the prefix `bert.`; its other heads are not taken.
StartReport start_text_encoder(VqaNetworkImpl& network, const NamedTensors& tensors,
                               const std::string& source);
/// Both, from the files that the config names; logs what was taken.
void start_encoders(VqaNetworkImpl& network, const VqaConfig& config);

/// Rules for the parameters that learn otherwise than the config of the optimizer says: layers of encoders,
/// each slower than the one behind it, and what has no weight decay. Empty where all learn alike.
std::vector<ParameterRule> rules_of(const VqaNetworkImpl& network, const VqaConfig& config);

}  // namespace larmor::xray_vqa
