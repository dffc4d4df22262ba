#include "larmor/measure/peak_count.h"

#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/nn/module.h>

#include "larmor/device/meta/meta_memory.h"
#include "larmor/measure/meta_step.h"

namespace larmor {
namespace {

/// Frees the gradient of a parameter as soon as backward has computed it: in a step it is added to a buffer
/// that the planner counts with the model.
class FreedGradients {
 public:
  explicit FreedGradients(Task& task) {
    for (const Objective& objective : task.objectives()) {
      for (const at::Tensor& parameter : objective.network->parameters()) {
        if (!parameter.requires_grad()) continue;
        auto& hook = torch::autograd::impl::post_acc_grad_hooks(parameter);
        before_.emplace_back(parameter, std::exchange(hook, std::make_unique<Hook>()));
      }
    }
  }
  ~FreedGradients() {
    for (auto& [parameter, hook] : before_)
      torch::autograd::impl::set_post_acc_grad_hooks(parameter, std::move(hook));
  }
  FreedGradients(const FreedGradients&) = delete;
  FreedGradients& operator=(const FreedGradients&) = delete;

 private:
  struct Hook final : torch::autograd::PostAccumulateGradHook {
    void operator()(const at::Tensor& parameter) override { parameter.mutable_grad() = at::Tensor(); }
  };
  std::vector<std::pair<at::Tensor, std::unique_ptr<torch::autograd::PostAccumulateGradHook>>> before_;
};

/// As a step does it: one forward, then backward of each result, which frees its graph.
int64_t peak_of(Task& task, const Sample& example, int64_t samples, Recompute recompute) {
  const Batch batch = meta_batch(example, samples);
  const FreedGradients gradients(task);
  const MetaMemoryScope memory;
  const auto results = results_on_meta(task, batch, recompute);
  for (const at::Tensor& result : results) torch::autograd::backward({result}, {at::empty_like(result)});
  return memory.peak();
}

}  // namespace

std::optional<int64_t> count_peak(Task& task, const Sample& example, int64_t samples, Recompute recompute,
                                  std::string* why_not) {
  prepare_on_meta(task);
  try {
    return peak_of(task, example, samples, recompute);
  } catch (const std::exception& error) {
    if (why_not != nullptr) *why_not = brief_reason(error);
    return std::nullopt;
  }
}

}  // namespace larmor
