#include "larmor/device/module_state.h"

#include <torch/nn/module.h>

#include "larmor/base/error.h"
#include "larmor/base/printable.h"
#include "larmor/base/text.h"

namespace larmor {

namespace {
std::string shape_text(const at::Tensor& tensor) {
  std::string out = "[";
  for (int64_t axis = 0; axis < tensor.dim(); ++axis) {
    if (axis > 0) out += ", ";
    out += text(tensor.size(axis));
  }
  return out + "]";
}

// So many that the list stays readable when everything is wrong.
constexpr size_t most_faults = 8;
}  // namespace

NamedTensors state_dict(const torch::nn::Module& module) {
  NamedTensors tensors;
  for (const auto& item : module.named_parameters()) tensors[item.key()] = item.value().detach();
  for (const auto& item : module.named_buffers()) tensors[item.key()] = item.value().detach();
  return tensors;
}

void load_state_dict(torch::nn::Module& module, const NamedTensors& tensors) {
  std::vector<std::string> faults;
  const auto own = state_dict(module);
  for (const auto& [name, tensor] : own) {
    const auto found = tensors.find(name);
    if (found == tensors.end()) {
      faults.push_back(name + " is missing");
    } else if (found->second.sizes() != tensor.sizes()) {
      faults.push_back(text(name, " is ", shape_text(found->second), " and should be ", shape_text(tensor)));
    }
  }
  for (const auto& [name, tensor] : tensors) {
    if (!own.contains(name)) faults.push_back(name + " is not known to this network");
  }
  if (!faults.empty()) {
    fail(Exit::checkpoint, text("the weights do not fit the network:", items(faults, most_faults)),
         "give the configuration (model.*) that the weights were trained with");
  }
  torch::NoGradGuard no_grad;
  for (const auto& [name, tensor] : own) {
    auto target = tensor;
    target.copy_(tensors.at(name));
  }
}

int64_t parameter_count(const torch::nn::Module& module) {
  int64_t count = 0;
  for (const auto& parameter : module.parameters()) count += parameter.numel();
  return count;
}

}  // namespace larmor
