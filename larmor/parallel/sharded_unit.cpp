#include "larmor/parallel/sharded_unit.h"

#include <cassert>
#include <utility>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/device/tensors/tensor_storage.h"
#include "larmor/parallel/state_ranges.h"

namespace larmor {
namespace {

std::vector<int64_t> sizes_of(const TensorList& parameters) {
  std::vector<int64_t> sizes;
  for (const auto& [name, parameter] : parameters) sizes.push_back(parameter.numel());
  return sizes;
}

at::Tensor part_of(const at::Tensor& whole, const Piece& piece) {
  return whole.detach().reshape({-1}).narrow(0, piece.first, piece.count);
}

}  // namespace

ShardedUnit::ShardedUnit(Bucket bucket, const TensorList& parameters, const ShardOptions& options,
                         Communicator& communicator)
    : options_(options), communicator_(communicator), bucket_(std::move(bucket)) {
  const at::NoGradGuard no_grad;
  for (const size_t member : bucket_.members) parameters_.push_back(parameters[member]);
  pad_for_ranks(bucket_, communicator.size());
  shard_elements_ = bucket_.elements / communicator.size();
  pieces_ = pieces_of(bucket_, sizes_of(parameters_), communicator.rank(), communicator.size());
  touched_.resize(members());

  const at::Tensor first = parameter(0);
  const auto on_device = first.options().requires_grad(false);
  full_ = at::zeros({bucket_.elements}, on_device.dtype(options_.type));
  for (size_t i = 0; i < members(); ++i) view_of(full_, i).copy_(parameter(i));
  own_ = full_.narrow(0, communicator.rank() * shard_elements_, shard_elements_);
  if (options_.cuts_weights) own_ = own_.clone();
  master_type_ = first.scalar_type();
  has_master_ = options_.offload || options_.type != first.scalar_type();
  master_ = own_;
  if (has_master_) {
    master_ = at::zeros({shard_elements_}, master_options());
    for (const Piece& piece : pieces_)
      master_.narrow(0, piece.place, piece.count).copy_(part_of(parameter(piece.member), piece));
  }
  for (const Piece& piece : pieces_) owned_.push_back(master_.narrow(0, piece.place, piece.count));
  std::vector<ParameterTraits> traits;
  for (const Piece& piece : pieces_) traits.push_back(options_.traits.at(name(piece.member)));
  optimizer_ = make_optimizer(options_.optim, owned_, std::move(traits));
  if (options_.optim.ema_decay > 0) average_.emplace(options_.optim.ema_decay, owned_);
  for (size_t i = 0; i < members(); ++i) parameter(i).set_data(view_of(full_, i));
  release();
}

/// Where the optimizer works. On the host, what a GPU sends and fetches lies in pinned memory.
at::TensorOptions ShardedUnit::master_options() const {
  const at::Tensor& any = parameters_.front().second;
  const at::TensorOptions options = any.options().dtype(master_type_).requires_grad(false);
  return options_.offload ? options.device(at::kCPU).pinned_memory(any.is_cuda()) : options;
}

bool ShardedUnit::widens_gradients() const {
  return gradient_sum_ == GradientSum::in_whole && options_.type != master_type_;
}

at::TensorOptions ShardedUnit::gradient_options() const {
  return full_.options().dtype(widens_gradients() ? master_type_ : options_.type);
}

at::Tensor ShardedUnit::view_of(const at::Tensor& flat, size_t member) const {
  const at::Tensor& parameter = parameters_[member].second;
  return flat.narrow(0, bucket_.offsets[member], parameter.numel()).view(parameter.sizes());
}

void ShardedUnit::start_gather() {
  if (is_whole_ || gathering_) return;
  if (options_.cuts_weights) restore_memory(full_);
  gathering_ = communicator_.all_gather(own_, full_);
}

void ShardedUnit::finish_gather() {
  if (is_whole_) return;
  assert(gathering_);
  gathering_->wait();
  gathering_.reset();
  is_whole_ = true;
}

void ShardedUnit::release() {
  if (!options_.cuts_weights || !is_whole_) return;
  is_whole_ = false;
  release_memory(full_);
}

void ShardedUnit::set_gradient_sum(GradientSum where) {
  gradient_sum_ = where;
  full_gradient_ = at::Tensor();  // it may have another width
}

void ShardedUnit::add_gradient(size_t member, const at::Tensor& gradient) {
  at::Tensor& so_far = parameter(member).mutable_grad();
  if (so_far.defined()) {
    so_far.add_(gradient);
  } else {
    so_far = gradient;
  }
}

void ShardedUnit::arrive(size_t member) {
  const at::NoGradGuard no_grad;
  if (!full_gradient_.defined()) full_gradient_ = at::zeros({bucket_.elements}, gradient_options());
  at::Tensor& target = parameter(member);
  const at::Tensor gradient = target.grad(), view = view_of(full_gradient_, member);
  const bool is_first = !touched_[member];
  touched_[member] = true;
  if (widens_gradients()) {
    is_first ? view.copy_(gradient) : view.add_(gradient);
    target.mutable_grad() = at::Tensor();
    return;
  }
  // The first gradient of a step comes as a tensor of its own; later ones are added to the view in place.
  if (gradient.const_data_ptr() == view.const_data_ptr()) return;
  view.copy_(gradient);
  target.mutable_grad() = view;
}

void ShardedUnit::start_reduce() {
  const at::NoGradGuard no_grad;
  assert(!reducing_);
  const auto options = gradient_options();
  if (!full_gradient_.defined()) full_gradient_ = at::zeros({bucket_.elements}, options);
  for (size_t i = 0; i < members(); ++i) {
    const bool has_one = widens_gradients() ? touched_[i] : parameter(i).grad().defined();
    if (!has_one) view_of(full_gradient_, i).zero_();
    parameter(i).mutable_grad() = at::Tensor();
  }
  reduced_ = options_.cuts_gradients
                 ? at::empty({shard_elements_}, options)
                 : full_gradient_.narrow(0, communicator_.rank() * shard_elements_, shard_elements_);
  reducing_ = communicator_.reduce_scatter(full_gradient_, reduced_, Reduce::mean);
}

void ShardedUnit::finish_reduce() {
  if (!reducing_) return;
  const at::NoGradGuard no_grad;
  reducing_->wait();
  reducing_.reset();
  if (options_.cuts_gradients) full_gradient_ = at::Tensor();
  if (own_gradient_.defined()) {
    own_gradient_.add_(reduced_);
  } else {
    const bool adds_up = gradient_sum_ == GradientSum::in_shard;
    own_gradient_ = adds_up ? reduced_.to(master_type_) : reduced_;
  }
  reduced_ = at::Tensor();
}

at::Tensor ShardedUnit::squared_norm() const {
  const at::NoGradGuard no_grad;
  return at::linalg_vector_norm(own_gradient_, 2, {}, /*keepdim=*/false, at::kDouble).square();
}

void ShardedUnit::step(double learning_rate, double factor, const std::vector<bool>& used) {
  const at::NoGradGuard no_grad;
  // A copy of its own, so that narrow gradients are scaled in the master weights' width.
  at::Tensor gradients =
      has_master_ ? at::empty({shard_elements_}, master_options()).copy_(own_gradient_) : own_gradient_;
  if (factor != 1) gradients.mul_(factor);
  for (size_t i = 0; i < pieces_.size(); ++i) {
    const Piece& piece = pieces_[i];
    if (used[piece.member]) owned_[i].mutable_grad() = gradients.narrow(0, piece.place, piece.count);
  }
  optimizer_->step(learning_rate);
  for (at::Tensor& owned : owned_) owned.mutable_grad() = at::Tensor();
  if (average_) average_->update(owned_);
  if (has_master_) own_.copy_(master_);
  is_whole_ = false;
  drop();
}

void ShardedUnit::drop() {
  for (size_t i = 0; i < members(); ++i) parameter(i).mutable_grad() = at::Tensor();
  touched_.assign(members(), false);
  own_gradient_ = at::Tensor();
  if (options_.cuts_gradients) full_gradient_ = at::Tensor();
}

void ShardedUnit::collect(const at::Tensor& shard, NamedTensors& into) {
  const at::NoGradGuard no_grad;
  const at::Tensor own = shard.to(full_.device());
  const at::Tensor whole = at::empty({bucket_.elements}, own.options());
  communicator_.all_gather(own, whole).wait();
  if (!communicator_.is_first()) return;
  for (size_t i = 0; i < members(); ++i)
    into[name(i)] = view_of(whole, i).to(at::kCPU, /*non_blocking=*/false);
}

void ShardedUnit::collect_weights(NamedTensors& into) { collect(master_, into); }

void ShardedUnit::collect_average(NamedTensors& into) {
  const at::NoGradGuard no_grad;
  const at::Tensor flat = at::zeros_like(master_);
  for (size_t i = 0; i < pieces_.size(); ++i)
    flat.narrow(0, pieces_[i].place, pieces_[i].count).copy_(average_->averages()[i]);
  collect(flat, into);
}

void ShardedUnit::load_weights(const NamedTensors& weights) {
  const at::NoGradGuard no_grad;
  for (size_t i = 0; i < pieces_.size(); ++i)
    owned_[i].copy_(part_of(weights.at(name(pieces_[i].member)), pieces_[i]));
  if (has_master_) own_.copy_(master_);
  release();
  is_whole_ = false;
}

void ShardedUnit::use_average() {
  const at::NoGradGuard no_grad;
  if (gathering_) finish_gather();
  if (!options_.cuts_weights) live_ = full_.clone();
  average_->apply_to(owned_);
  if (has_master_) own_.copy_(master_);
  release();
  is_whole_ = false;
}

void ShardedUnit::use_live() {
  const at::NoGradGuard no_grad;
  average_->restore(owned_);
  if (options_.cuts_weights) {
    if (has_master_) own_.copy_(master_);
    release();
    return;
  }
  if (live_.defined()) full_.copy_(live_);  // undefined where use_average() has thrown before
  live_ = at::Tensor();
  is_whole_ = true;
}

void ShardedUnit::save(StateWriter& writer) const {
  for (const auto& [kind, tensors] : optimizer_->state()) {
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (!tensors[i].defined()) continue;
      const Piece& piece = pieces_[i];
      const std::string whole = text(kind, "/", name(piece.member));
      const bool is_one_number = tensors[i].dim() == 0;
      // Every rank with a piece of the parameter has the number; the one with its first element writes it.
      if (is_one_number && piece.first > 0) continue;
      writer.tensor(is_one_number ? whole : ranged_name(whole, piece.first, piece.first + piece.count),
                    tensors[i]);
    }
  }
}

void ShardedUnit::load(const StateReader& reader) {
  const at::NoGradGuard no_grad;
  for (const auto& [kind, is_scalar] : state_kinds(options_.optim)) {
    std::vector<at::Tensor>& tensors = optimizer_->state().at(kind);
    for (size_t i = 0; i < tensors.size(); ++i) {
      const Piece& piece = pieces_[i];
      const std::string whole = text(kind, "/", name(piece.member));
      tensors[i] = at::Tensor();
      if (!reader.has(whole)) continue;
      if (is_scalar) {
        tensors[i] = at::zeros({}, owned_[i].options().dtype(at::kFloat));
        tensors[i].copy_(reader.tensor(whole).reshape({}));
      } else {
        tensors[i] = at::zeros_like(owned_[i]);
        tensors[i].copy_(
            part_of_state(reader, whole, parameters_[piece.member].second, piece.first, piece.count));
      }
    }
  }
  if (average_) {
    for (size_t i = 0; i < pieces_.size(); ++i) {
      const auto& [member, first, count, place] = pieces_[i];
      average_->averages()[i].copy_(
          part_of_state(reader, text("ema/", name(member)), parameters_[member].second, first, count));
    }
  }
  optimizer_->set_steps(reader.value("steps").get<int64_t>());
}

}  // namespace larmor
