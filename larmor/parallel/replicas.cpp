#include "larmor/parallel/replicas.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_set>
#include <utility>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <torch/nn/module.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/device/module_state.h"
#include "larmor/parallel/buckets.h"

namespace larmor {
namespace {

/// Where the plan leaves the size of a bucket open.
constexpr int64_t usual_bucket_bytes = 25 << 20;

std::string describe(const std::vector<std::pair<std::string, at::Tensor>>& tensors) {
  std::string all;
  for (const auto& [name, tensor] : tensors) {
    all += text(name, " ", c10::toString(tensor.scalar_type()), " [");
    for (const int64_t size : tensor.sizes()) all += text(" ", size);
    all += " ]\n";
  }
  return all;
}

/// Collective. Ranks that built different networks would exchange nonsense, or hang.
void check_same_network(const std::vector<std::pair<std::string, at::Tensor>>& tensors,
                        Communicator& communicator) {
  const std::string own = describe(tensors), first = broadcast_bytes(communicator, own, 0);
  if (own == first) return;
  const std::vector<std::string> own_lines = split(own, '\n'), first_lines = split(first, '\n');
  size_t line = 0;
  while (line + 1 < std::min(own_lines.size(), first_lines.size()) && own_lines[line] == first_lines[line]) {
    line += 1;
  }
  fail(Exit::usage,
       text("rank ", communicator.rank(), " has another network than rank 0: '", own_lines[line],
            "' against '", first_lines[line], "'"),
       "start all ranks with the same program and the same config");
}

/// Collective. Rank 0's values go to all, in large pieces.
void adopt(const std::vector<std::pair<std::string, at::Tensor>>& tensors, int64_t bucket_bytes,
           Communicator& communicator) {
  const at::NoGradGuard no_grad;
  std::vector<TensorSize> sizes;
  for (const auto& [name, tensor] : tensors) sizes.push_back({tensor.numel(), tensor.scalar_type()});
  for (const Bucket& bucket : cut_buckets(sizes, bucket_bytes)) {
    const auto part = [&](const at::Tensor& flat, size_t member) {
      const at::Tensor& tensor = tensors[bucket.members[member]].second;
      return flat.narrow(0, bucket.offsets[member], tensor.numel()).view(tensor.sizes());
    };
    const at::Tensor& any = tensors[bucket.members[0]].second;
    const at::Tensor flat = at::zeros({bucket.elements}, any.options().requires_grad(false));
    for (size_t i = 0; i < bucket.members.size(); ++i) part(flat, i).copy_(tensors[bucket.members[i]].second);
    communicator.broadcast(flat, 0).wait();
    for (size_t i = 0; i < bucket.members.size(); ++i) {
      tensors[bucket.members[i]].second.detach().copy_(part(flat, i));
    }
  }
}

}  // namespace

Replicas::Replicas(const Plan& plan, const OptimConfig& optim, torch::nn::Module& module,
                   Communicator& communicator)
    : module_(module),
      communicator_(communicator),
      clip_norm_(optim.clip_norm),
      bucket_bytes_(plan.bucket_bytes > 0 ? plan.bucket_bytes : usual_bucket_bytes),
      scale_(plan.precision == Precision::fp16) {
  std::vector<std::pair<std::string, at::Tensor>> tensors;
  std::unordered_set<const c10::TensorImpl*> seen;  // a parameter that two blocks share counts once
  for (const auto& item : module.named_parameters()) {
    if (!seen.insert(item.value().unsafeGetTensorImpl()).second) continue;
    tensors.emplace_back(item.key(), item.value());
    if (!item.value().requires_grad()) continue;
    names_.push_back(item.key());
    parameters_.push_back(item.value());
  }
  for (const auto& item : module.named_buffers()) tensors.emplace_back(item.key(), item.value());
  require(!parameters_.empty(), Exit::usage, "the network has no parameter that learns");
  check_same_network(tensors, communicator);
  adopt(tensors, bucket_bytes_, communicator);
  exchange_ = std::make_unique<GradientExchange>(parameters_, names_, bucket_bytes_, communicator);
  optimizer_ = make_optimizer(optim, parameters_);
  if (optim.ema_decay > 0) average_.emplace(optim.ema_decay, parameters_);
}

void Replicas::backward(const at::Tensor& loss, bool last, const Votes& votes) {
  exchange_->backward(scale_.is_active() ? loss * scale_.scale() : loss, last, votes);
}

Reduced Replicas::finish() {
  Reduced reduced;
  reduced.votes = exchange_->finish();
  norm_ = gradient_norm(parameters_);
  reduced.gradient_norm = norm_.item<double>() / scale_.scale();
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
  if (clip_norm_ > 0 && norm_.item<double>() + 1e-6 > clip_norm_)
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
  std::vector<std::pair<std::string, at::Tensor>> buffers;
  for (const auto& item : module_.named_buffers()) buffers.emplace_back(item.key(), item.value());
  if (!buffers.empty()) adopt(buffers, bucket_bytes_, communicator_);
}

NamedTensors Replicas::average() const {
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
    const at::Tensor source = reader.tensor(name);
    if (source.sizes() != target.sizes()) {
      fail(Exit::checkpoint, text("the shape of '", name, "' in the checkpoint is not that of the network"),
           "resume with the config that the run was started with");
    }
    target.copy_(source);
  };
  for (auto& [kind, tensors] : optimizer_->state()) {
    for (size_t i = 0; i < tensors.size(); ++i) {
      const std::string name = text(kind, "/", names_[i]);
      tensors[i] = at::Tensor();
      if (!reader.has(name)) continue;
      tensors[i] = kind == "step"
                       ? at::zeros({}, parameters_[i].options().dtype(at::kFloat).requires_grad(false))
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
