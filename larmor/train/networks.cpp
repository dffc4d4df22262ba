#include "larmor/train/networks.h"

#include <torch/nn/module.h>

namespace larmor {

std::vector<torch::nn::Module*> networks_of(Task& task) {
  std::vector<torch::nn::Module*> networks;
  for (const Objective& objective : task.objectives()) networks.push_back(objective.network);
  for (torch::nn::Module* const companion : task.companions()) networks.push_back(companion);
  return networks;
}

void place(Task& task, c10::Device device, Precision precision) {
  for (torch::nn::Module* const network : networks_of(task))
    network->to(device, precision == Precision::fp64 ? c10::kDouble : c10::kFloat);
  freeze_companions(task);
}

void freeze_companions(Task& task) {
  for (torch::nn::Module* const companion : task.companions()) {
    companion->eval();
    for (at::Tensor& parameter : companion->parameters()) parameter.requires_grad_(false);
  }
}

EvaluationMode::EvaluationMode(Task& task) {
  for (torch::nn::Module* const network : networks_of(task)) {
    if (network->is_training()) training_.push_back(network);
    network->eval();
  }
}

EvaluationMode::~EvaluationMode() {
  for (torch::nn::Module* const network : training_) network->train();
}

}  // namespace larmor
