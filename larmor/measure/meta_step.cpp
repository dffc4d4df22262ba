#include "larmor/measure/meta_step.h"

#include <exception>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>
#include <torch/nn/module.h>

#include "larmor/device/meta/meta_kernels.h"
#include "larmor/task/networks.h"
#include "larmor/task/pass.h"

namespace larmor {

void prepare_on_meta(Task& task) {
  register_meta_kernels();
  for (torch::nn::Module* const network : networks_of(task)) move_to_meta(*network);
  for (const Objective& objective : task.objectives()) objective.network->train();
  freeze_companions(task);
}

Batch meta_batch(const Sample& example, int64_t samples) {
  Batch batch;
  for (const auto& [name, tensor] : example) {
    std::vector<int64_t> sizes{samples};
    for (const int64_t size : tensor.sizes()) sizes.push_back(size);
    batch.tensors[name] = at::empty(sizes, tensor.options().device(at::kMeta));
  }
  for (int64_t row = 0; row < samples; ++row) batch.keys.push_back({.seed = 0, .epoch = 0, .example = row});
  return batch;
}

std::vector<at::Tensor> results_on_meta(Task& task, const Batch& batch, Recompute recompute) {
  const PassOptions options{.device = c10::kMeta, .recompute = recompute};
  const StepContext context = measuring_context(task, batch, options.precision);
  const at::AutoGradMode graph(true);
  auto* const whole = task.whole_batch_loss();
  return whole != nullptr ? std::vector<at::Tensor>{rows_of(*whole, batch, context, options)}
                          : losses_of(task, batch, context, options);
}

std::vector<at::Tensor> forward_on_meta(Task& task, const Sample& example, int64_t samples) {
  prepare_on_meta(task);
  return results_on_meta(task, meta_batch(example, samples), Recompute::none);
}

std::string brief_reason(const std::exception& error) {
  const auto* const of_libtorch = dynamic_cast<const c10::Error*>(&error);
  const std::string words = of_libtorch != nullptr ? of_libtorch->what_without_backtrace() : error.what();
  return words.substr(0, words.find('\n'));
}

}  // namespace larmor
