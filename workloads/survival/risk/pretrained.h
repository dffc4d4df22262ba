// Weights that were trained elsewhere as the start of a network: whatever fits is taken, and what does not is
// named.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "larmor/device/tensor_file.h"

namespace torch::nn {
class Module;
}

namespace larmor::survival {

/// Names without the prefixes of wrappers, in the order of their tables.
struct StartReport {
  std::string source;             // the file
  int64_t copied = 0;             // tensors
  int64_t in_network = 0;         // tensors that the network has
  std::vector<std::string> left;  // of the file, left there on purpose: the last layer, a decoder
  std::vector<std::string> not_in_network;
  std::vector<std::string> not_in_file;  // they stay as the network had them
  std::vector<std::string> advice;       // sentences: what the two lists hint at
};

/// Copies tensors into a ResNet by name, after taking `module.`, `state_dict.`, `model.`, `net.` and
/// `backbone.` off the beginning of the file's names. `fc.*` and MedicalNet's decoder `conv_seg.*` are not
/// taken: they answer another question. The network is untouched when this throws.
/// Throws Error (usage): shapes that differ, a file of which nothing fits, two tensors of one name.
StartReport start_from(torch::nn::Module& network, const NamedTensors& tensors, const std::string& source);

/// What to log: one line of counts, one for each list that is not empty (the first names, and how many more),
/// and the advice.
std::vector<std::string> lines_of(const StartReport& report);

}  // namespace larmor::survival
