#include "larmor/optim/optimizer.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/_fused_sgd.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor {
namespace {

using Tensors = std::vector<at::Tensor>;

/// The parameters of a group that have a gradient, by index.
std::vector<size_t> moving(const Tensors& parameters, const ParameterGroup& group) {
  std::vector<size_t> indices;
  for (const size_t i : group.members) {
    if (parameters[i].grad().defined()) indices.push_back(i);
  }
  return indices;
}

std::vector<ParameterGroup> groups_for(const OptimConfig& config, const Tensors& parameters,
                                       std::vector<ParameterTraits> traits) {
  if (traits.empty()) traits.resize(parameters.size(), {.rate = 1, .weight_decay = config.weight_decay});
  assert(traits.size() == parameters.size());
  return groups_of(traits);
}

Tensors pick(const Tensors& tensors, const std::vector<size_t>& indices) {
  Tensors picked;
  for (const size_t i : indices) picked.push_back(tensors[i]);
  return picked;
}

/// Gradients as the fused kernels want them: they walk memory and never look at strides.
Tensors gradients_of(const Tensors& parameters, const std::vector<size_t>& indices) {
  Tensors gradients;
  for (const size_t i : indices) {
    const at::Tensor& gradient = parameters[i].grad();
    const bool same_layout = gradient.strides() == parameters[i].strides();
    gradients.push_back(same_layout ? gradient : at::empty_like(parameters[i]).copy_(gradient));
  }
  return gradients;
}

/// Adds one to each. On a CPU without an operator a number: libtorch's loop over tensors takes longer for all
/// of them than the gradients' norm.
void count_step(const Tensors& counts) {
  if (!std::all_of(counts.begin(), counts.end(), [](const at::Tensor& count) {
        return count.is_cpu() && count.scalar_type() == at::kFloat;
      })) {
    at::_foreach_add_(counts, 1);
    return;
  }
  for (const at::Tensor& count : counts) *count.mutable_data_ptr<float>() += 1;
}

class Adam final : public Optimizer {
 public:
  Adam(const OptimConfig& config, Tensors parameters, std::vector<ParameterTraits> traits,
       bool decoupled_decay)
      : config_(config),
        groups_(groups_for(config, parameters, std::move(traits))),
        parameters_(std::move(parameters)),
        decoupled_decay_(decoupled_decay) {
    for (const StateKind& kind : state_kinds(config)) state_[kind.name].resize(parameters_.size());
  }

  void step(double learning_rate) override {
    const at::NoGradGuard no_grad;
    steps_ += 1;
    for (const ParameterGroup& group : groups_) move(group, learning_rate * group.traits.rate);
  }

  std::map<std::string, Tensors>& state() override { return state_; }
  int64_t steps() const override { return steps_; }
  void set_steps(int64_t steps) override { steps_ = steps; }

 private:
  void move(const ParameterGroup& group, double learning_rate) {
    const std::vector<size_t> indices = moving(parameters_, group);
    if (indices.empty()) return;
    for (const size_t i : indices) begin_state(i);
    const Tensors parameters = pick(parameters_, indices), gradients = gradients_of(parameters_, indices);
    const Tensors means = pick(state_["exp_avg"], indices), squares = pick(state_["exp_avg_sq"], indices);
    const Tensors counts = pick(state_["step"], indices);
    count_step(counts);
    const auto update = [&](auto&& kernel) {
      kernel(parameters, gradients, means, squares, Tensors(), counts, learning_rate, config_.betas[0],
             config_.betas[1], group.traits.weight_decay, config_.eps, /*amsgrad=*/false, /*maximize=*/false);
    };
    if (decoupled_decay_) {
      update([](auto&&... arguments) { at::_fused_adamw_(arguments...); });
    } else {
      update([](auto&&... arguments) { at::_fused_adam_(arguments...); });
    }
  }

  void begin_state(size_t i) {
    if (state_["step"][i].defined()) return;
    state_["exp_avg"][i] = at::zeros_like(parameters_[i]);
    state_["exp_avg_sq"][i] = at::zeros_like(parameters_[i]);
    state_["step"][i] = at::zeros({}, parameters_[i].options().dtype(at::kFloat).requires_grad(false));
  }

  OptimConfig config_;
  std::vector<ParameterGroup> groups_;
  Tensors parameters_;
  bool decoupled_decay_;
  std::map<std::string, Tensors> state_;
  int64_t steps_ = 0;
};

class Sgd final : public Optimizer {
 public:
  Sgd(const OptimConfig& config, Tensors parameters, std::vector<ParameterTraits> traits)
      : config_(config),
        groups_(groups_for(config, parameters, std::move(traits))),
        parameters_(std::move(parameters)) {
    for (const StateKind& kind : state_kinds(config)) state_[kind.name].resize(parameters_.size());
  }

  void step(double learning_rate) override {
    const at::NoGradGuard no_grad;
    steps_ += 1;
    for (const ParameterGroup& group : groups_) {
      const ParameterTraits now{.rate = learning_rate * group.traits.rate,
                                .weight_decay = group.traits.weight_decay};
      move(moving(parameters_, group), now);
    }
  }

  std::map<std::string, Tensors>& state() override { return state_; }
  int64_t steps() const override { return steps_; }
  void set_steps(int64_t steps) override { steps_ = steps; }

 private:
  void move(const std::vector<size_t>& indices, const ParameterTraits& now) {
    if (config_.momentum == 0) {
      update(indices, {}, now, /*first=*/false);
      return;
    }
    // The kernel fills a new buffer with the gradient itself, so new and old ones go separately.
    Tensors& buffers = state_["momentum_buffer"];
    std::vector<size_t> old_ones, new_ones;
    for (const size_t i : indices) (buffers[i].defined() ? old_ones : new_ones).push_back(i);
    for (const size_t i : new_ones) buffers[i] = at::empty_like(parameters_[i]);
    update(old_ones, pick(buffers, old_ones), now, /*first=*/false);
    update(new_ones, pick(buffers, new_ones), now, /*first=*/true);
  }

  void update(const std::vector<size_t>& indices, const Tensors& buffers, const ParameterTraits& now,
              bool first) {
    if (indices.empty()) return;
    at::_fused_sgd_(pick(parameters_, indices), gradients_of(parameters_, indices), buffers, now.weight_decay,
                    config_.momentum, now.rate, /*dampening=*/0.0,
                    /*nesterov=*/false, /*maximize=*/false, first);
  }

  OptimConfig config_;
  std::vector<ParameterGroup> groups_;
  Tensors parameters_;
  std::map<std::string, Tensors> state_;
  int64_t steps_ = 0;
};

Tensors all_gradients(const Tensors& parameters) {
  Tensors gradients;
  for (const at::Tensor& parameter : parameters) {
    if (parameter.grad().defined()) gradients.push_back(parameter.grad());
  }
  return gradients;
}

}  // namespace

std::vector<StateKind> state_kinds(const OptimConfig& config) {
  if (config.name == "adamw" || config.name == "adam")
    return {{.name = "exp_avg"}, {.name = "exp_avg_sq"}, {.name = "step", .is_scalar = true}};
  if (config.name != "sgd")
    fail(Exit::usage, text("optim.name is '", config.name, "'"), "say adamw, adam or sgd");
  if (config.momentum == 0) return {};
  return {{.name = "momentum_buffer"}};
}

std::unique_ptr<Optimizer> make_optimizer(const OptimConfig& config, std::vector<at::Tensor> parameters,
                                          std::vector<ParameterTraits> traits) {
  if (config.name == "sgd") return std::make_unique<Sgd>(config, std::move(parameters), std::move(traits));
  return std::make_unique<Adam>(config, std::move(parameters), std::move(traits), config.name == "adamw");
}

at::Tensor gradient_norm(const std::vector<at::Tensor>& gradients) {
  const at::NoGradGuard no_grad;
  return at::linalg_vector_norm(at::stack(at::_foreach_norm(gradients, 2)), 2);
}

void clip_gradients(const std::vector<at::Tensor>& parameters, const at::Tensor& norm, double largest) {
  const at::NoGradGuard no_grad;
  const Tensors gradients = all_gradients(parameters);
  if (gradients.empty()) return;
  at::_foreach_mul_(gradients, (largest / (norm + 1e-6)).clamp_max(1.0));
}

}  // namespace larmor
