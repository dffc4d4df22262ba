#include "larmor/task/networks.h"

#include <torch/nn/module.h>

namespace larmor {

std::vector<torch::nn::Module*> networks_of(Task& task) {
  std::vector<torch::nn::Module*> networks;
  for (const Objective& objective : task.objectives()) networks.push_back(objective.network);
  for (torch::nn::Module* const companion : task.companions()) networks.push_back(companion);
  return networks;
}

c10::ScalarType weight_type(Precision precision) {
  return precision == Precision::fp64 ? c10::kDouble : c10::kFloat;
}

void place(Task& task, c10::Device device, Precision precision) {
  for (torch::nn::Module* const network : networks_of(task)) network->to(device, weight_type(precision));
  freeze_companions(task);
}

void lay_out_kernels(Task& task, Layout layout) {
  if (layout == Layout::contiguous) return;
  constexpr int64_t axes_of_kernel = 5;
  for (torch::nn::Module* const network : networks_of(task)) {
    for (at::Tensor& weight : network->parameters()) {
      if (weight.dim() == axes_of_kernel)
        weight.set_data(weight.detach().contiguous(at::MemoryFormat::ChannelsLast3d));
    }
  }
}

void freeze_companions(Task& task) {
  for (torch::nn::Module* const companion : task.companions()) {
    companion->eval();
    for (at::Tensor& parameter : companion->parameters()) parameter.requires_grad_(false);
  }
}

EvaluationMode::EvaluationMode(Task& task) {
  for (torch::nn::Module* const network : networks_of(task)) {
    for (const auto& module : network->modules()) before_.emplace_back(module, module->is_training());
  }
  for (torch::nn::Module* const network : networks_of(task)) network->eval();
}

// What stands in a module comes after it, and has the last word.
EvaluationMode::~EvaluationMode() {
  for (const auto& [module, was_training] : before_) module->train(was_training);
}

}  // namespace larmor
