#include "larmor/parallel/replicas.h"

#include <cmath>
#include <map>
#include <utility>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <torch/nn/module.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/device/module_state.h"
#include "larmor/parallel/agreement.h"
#include "larmor/parallel/buckets.h"
#include "larmor/parallel/replica_check.h"
#include "larmor/parallel/state_ranges.h"

namespace larmor {

Replicas::Replicas(const Plan& plan, const OptimConfig& optim, const std::vector<ParameterTraits>& traits,
                   torch::nn::Module& module, Communicator& communicator)
    : module_(module),
      communicator_(communicator),
      state_kinds_(state_kinds(optim)),
      clip_norm_(optim.clip_norm),
      bucket_bytes_(plan.bucket_bytes > 0 ? plan.bucket_bytes : bucket_bytes_by_default),
      scale_(plan.precision == Precision::fp16) {
  agree_on_network(module, bucket_bytes_, communicator);
  for (auto& [name, parameter] : learning_parameters(module)) {
    names_.push_back(name);
    parameters_.push_back(parameter);
  }
  exchange_ =
      std::make_unique<GradientExchange>(parameters_, names_, bucket_bytes_, plan.compression, communicator);
  optimizer_ = make_optimizer(optim, parameters_, traits);
  if (optim.ema_decay > 0) average_.emplace(optim.ema_decay, parameters_);
}

void Replicas::backward(const at::Tensor& loss, bool last, const Votes& votes) {
  exchange_->backward(scale_.is_active() ? loss * scale_.scale() : loss, last, votes);
}

at::Tensor Replicas::reduce() {
  const at::NoGradGuard no_grad;
  const at::Tensor votes = exchange_->reduce();
  norm_ = gradient_norm(exchange_->gradients());
  return at::cat({votes.to(at::kDouble), norm_.to(at::kDouble).reshape({1})});
}

Reduced Replicas::read_reduced(const at::Tensor& numbers) {
  const double* const values = numbers.const_data_ptr<double>();
  Reduced reduced{.votes = exchange_->read_reduced(values)};
  norm_on_host_ = values[exchange_->numbers()];
  reduced.gradient_norm = norm_on_host_ / scale_.scale();
  reduced.finite = std::isfinite(reduced.gradient_norm);
  return reduced;
}

void Replicas::step(double learning_rate) {
  const at::NoGradGuard no_grad;
  if (scale_.is_active()) {
    std::vector<at::Tensor> gradients;
    for (const at::Tensor& parameter : parameters_) {
      if (parameter.grad().defined()) gradients.push_back(parameter.grad());
    }
    if (!gradients.empty()) at::_foreach_mul_(gradients, 1 / scale_.scale());
    norm_ = norm_ / scale_.scale();
  }
  // A coefficient of one would only cost a pass over all gradients.
  if (clip_norm_ > 0 && norm_on_host_ / scale_.scale() + 1e-6 > clip_norm_)
    clip_gradients(parameters_, norm_, clip_norm_);
  optimizer_->step(learning_rate);
  if (average_) average_->update(parameters_);
  scale_.update(/*overflowed=*/false);
  exchange_->drop();
}

void Replicas::skip() {
  scale_.update(/*overflowed=*/true);
  exchange_->drop();
}

void Replicas::share_buffers() {
  const TensorList buffers = buffers_of(module_);
  if (!buffers.empty()) adopt(buffers, bucket_bytes_, communicator_);
}

void Replicas::check_replicas() {
  TensorList kept;
  for (size_t i = 0; i < parameters_.size(); ++i) kept.emplace_back(names_[i], parameters_[i]);
  if (average_) {
    for (size_t i = 0; i < parameters_.size(); ++i)
      kept.emplace_back("the average of " + names_[i], average_->averages()[i]);
  }
  require_equal_replicas(kept, communicator_);
}

NamedTensors Replicas::weights() { return communicator_.is_first() ? state_dict(module_) : NamedTensors(); }

void Replicas::load_weights(const NamedTensors& weights) { load_state_dict(module_, weights); }

NamedTensors Replicas::average() {
  if (!communicator_.is_first()) return {};
  // By memory, because a parameter that two blocks share has two names.
  std::map<const void*, at::Tensor> averages;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    averages[parameters_[i].const_data_ptr()] = average_->averages()[i];
  }
  NamedTensors tensors = state_dict(module_);
  for (auto& [name, tensor] : tensors) {
    const auto found = averages.find(tensor.const_data_ptr());
    if (found != averages.end()) tensor = found->second;
  }
  return tensors;
}

void Replicas::save(StateWriter& writer) const {
  if (!communicator_.is_first()) return;
  for (const auto& [kind, tensors] : optimizer_->state()) {
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (tensors[i].defined()) writer.tensor(text(kind, "/", names_[i]), tensors[i]);
    }
  }
  writer.value("steps", optimizer_->steps());
  scale_.save(writer);
}

void Replicas::load(const StateReader& reader) {
  const at::NoGradGuard no_grad;
  const auto copy = [&](const std::string& name, at::Tensor& target) {
    target.copy_(flat_state(reader, name, target).view(target.sizes()));
  };
  for (const auto& [kind, is_scalar] : state_kinds_) {
    std::vector<at::Tensor>& tensors = optimizer_->state().at(kind);
    for (size_t i = 0; i < tensors.size(); ++i) {
      const std::string name = text(kind, "/", names_[i]);
      tensors[i] = at::Tensor();
      if (!reader.has(name)) continue;
      tensors[i] = is_scalar ? at::zeros({}, parameters_[i].options().dtype(at::kFloat).requires_grad(false))
                             : at::zeros_like(parameters_[i]);
      copy(name, tensors[i]);
    }
  }
  if (average_) {
    for (size_t i = 0; i < names_.size(); ++i) copy(text("ema/", names_[i]), average_->averages()[i]);
  }
  optimizer_->set_steps(reader.value("steps").get<int64_t>());
  scale_.load(reader);
}

}  // namespace larmor
