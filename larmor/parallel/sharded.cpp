#include "larmor/parallel/sharded.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <map>
#include <utility>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/nn/module.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/device/device.h"
#include "larmor/device/module_state.h"
#include "larmor/device/send.h"
#include "larmor/parallel/vote_flags.h"

namespace larmor {
namespace {

/// Of cut gradients: more would hold what cutting is to save.
constexpr size_t most_on_their_way = 2;

/// What of `parameters` lies within each block, and at the end what lies in none.
std::vector<TensorList> by_block(const TensorList& parameters,
                                 const std::vector<const torch::nn::Module*>& blocks) {
  std::vector<TensorList> groups(blocks.size() + 1);
  std::map<const c10::TensorImpl*, size_t> block_of;
  for (size_t block = 0; block < blocks.size(); ++block) {
    for (const auto& item : blocks[block]->named_parameters()) {
      const auto [place, is_new] = block_of.try_emplace(item.value().unsafeGetTensorImpl(), block);
      if (is_new || place->second == block) continue;
      fail(Exit::usage, text("zero3 cannot cut this network: two blocks share the parameter ", item.key()),
           "parallel.strategy=zero2");
    }
  }
  for (const auto& named : parameters) {
    const auto found = block_of.find(named.second.unsafeGetTensorImpl());
    groups[found == block_of.end() ? blocks.size() : found->second].push_back(named);
  }
  return groups;
}

std::vector<TensorSize> sizes_for(const TensorList& parameters, c10::ScalarType type) {
  std::vector<TensorSize> sizes;
  for (const auto& [name, parameter] : parameters) sizes.push_back({parameter.numel(), type});
  return sizes;
}

/// Mixed precision narrows float32; float64 is asked for because it is exact.
c10::ScalarType working_type(const Plan& plan, const TensorList& parameters) {
  const bool is_half = plan.precision == Precision::bf16 || plan.precision == Precision::fp16;
  const c10::ScalarType own = parameters.front().second.scalar_type();
  return is_half && own == at::kFloat ? scalar_type(plan.precision) : own;
}

}  // namespace

struct Sharded::Hook final : torch::autograd::PostAccumulateGradHook {
  Hook(Sharded* of, size_t of_unit, size_t as_member) : owner(of), unit(of_unit), member(as_member) {}
  void operator()(const at::Tensor&) override { owner->arrive(unit, member); }
  Sharded* owner;
  size_t unit, member;
};

Sharded::Sharded(const Plan& plan, const OptimConfig& optim, const std::vector<ParameterTraits>& traits,
                 torch::nn::Module& module, Communicator& communicator,
                 const std::vector<const torch::nn::Module*>& blocks)
    : module_(module),
      communicator_(communicator),
      clip_norm_(optim.clip_norm),
      bucket_bytes_(plan.bucket_bytes > 0 ? plan.bucket_bytes : bucket_bytes_by_default),
      cuts_weights_(plan.strategy == Strategy::zero3),
      cuts_gradients_(cuts_weights_ || plan.strategy == Strategy::zero2),
      exchanges_every_time_(cuts_gradients_ && plan.exchange_every_micro_batch),
      keeps_average_(optim.ema_decay > 0),
      scale_(plan.precision == Precision::fp16) {
  assert(is_sharded(plan.strategy));
  agree_on_network(module, bucket_bytes_, communicator);
  make_units(plan, optim, traits, blocks);
  set_accumulation(plan.accumulation);
  take_hooks();
  if (!cuts_weights_) return;
  std::vector<ShardedUnit*> cut;
  for (size_t unit = 0; unit < block_units_; ++unit) cut.push_back(units_[unit].get());
  std::vector<const torch::nn::Module*> learning;
  for (const auto* const block : blocks) {
    if (!learning_parameters(*block).empty()) learning.push_back(block);
  }
  blocks_ = std::make_unique<GatheredBlocks>(learning, cut, [this](size_t unit) {
    if (reduces_) reduce(unit);
  });
  keeper_scope_ = std::make_unique<WeightKeeperScope>(*blocks_);
}

Sharded::~Sharded() {
  for (const auto& unit : units_) {
    for (size_t i = 0; i < unit->members(); ++i)
      torch::autograd::impl::set_post_acc_grad_hooks(unit->parameter(i), nullptr);
  }
}

void Sharded::make_units(const Plan& plan, const OptimConfig& optim,
                         const std::vector<ParameterTraits>& traits,
                         const std::vector<const torch::nn::Module*>& blocks) {
  const TensorList parameters = learning_parameters(module_);
  std::map<std::string, ParameterTraits> traits_by_name;
  for (size_t i = 0; i < parameters.size(); ++i) traits_by_name[parameters[i].first] = traits.at(i);
  ShardOptions options{.optim = optim,
                       .traits = std::move(traits_by_name),
                       .type = working_type(plan, parameters),
                       .offload = plan.offload_optimizer,
                       .cuts_gradients = cuts_gradients_,
                       .cuts_weights = cuts_weights_};
  TensorList rest = parameters;
  if (cuts_weights_) {
    require(!blocks.empty(), Exit::usage,
            "zero3 cannot cut this network: no block of it goes through nn::run_block",
            "parallel.strategy=zero2");
    std::vector<TensorList> groups = by_block(parameters, blocks);
    rest = std::move(groups.back());
    groups.pop_back();
    for (const TensorList& group : groups) {
      if (group.empty()) continue;
      units_.push_back(std::make_unique<ShardedUnit>(one_bucket(sizes_for(group, options.type)), group,
                                                     options, communicator_));
    }
    options.cuts_weights = false;
  }
  block_units_ = units_.size();
  for (Bucket& bucket : cut_buckets(sizes_for(rest, options.type), bucket_bytes_))
    units_.push_back(std::make_unique<ShardedUnit>(std::move(bucket), rest, options, communicator_));
}

void Sharded::take_hooks() {
  std::map<const c10::TensorImpl*, size_t> places;
  for (const auto& named : learning_parameters(module_))
    places.emplace(named.second.unsafeGetTensorImpl(), places.size());
  for (size_t unit = 0; unit < units_.size(); ++unit) {
    order_.emplace_back();
    for (size_t i = 0; i < units_[unit]->members(); ++i) {
      order_.back().push_back(places.at(units_[unit]->parameter(i).unsafeGetTensorImpl()));
      torch::autograd::impl::set_post_acc_grad_hooks(units_[unit]->parameter(i),
                                                     std::make_unique<Hook>(this, unit, i));
    }
    arrived_.emplace_back(units_[unit]->members());
  }
}

void Sharded::set_accumulation(int64_t micro_batches) {
  const auto where = exchanges_every_time_ ? GradientSum::in_shard : GradientSum::in_whole;
  for (const auto& unit : units_) unit->set_gradient_sum(micro_batches > 1 ? where : GradientSum::none);
}

void Sharded::begin_micro_batch(bool last, const Votes& votes) {
  reduces_ = last || exchanges_every_time_;
  votes_ = votes;
  reduced_.assign(units_.size(), false);
  missing_.clear();
  for (auto& arrived : arrived_) {
    arrived.assign(arrived.size(), false);
    missing_.push_back(arrived.size());
  }
}

void Sharded::end_micro_batch(bool last) {
  if (!reduces_) return;
  for (size_t unit = 0; unit < units_.size(); ++unit) {
    if (!reduced_[unit]) reduce(unit);
  }
  if (!last) finish_reductions(0);
}

void Sharded::backward(const at::Tensor& loss, bool last, const Votes& votes) {
  begin_micro_batch(last, votes);
  running_ = true;
  try {
    torch::autograd::backward({scale_.is_active() ? loss * scale_.scale() : loss}, {});
  } catch (...) {
    running_ = false;
    throw;
  }
  running_ = false;
  if (blocks_) blocks_->end_backward();
  end_micro_batch(last);
}

void Sharded::receive(const std::vector<at::Tensor>& gradients, bool last, const Votes& votes) {
  assert(!cuts_weights_);
  const at::NoGradGuard no_grad;
  begin_micro_batch(last, votes);
  running_ = true;
  for (size_t unit = 0; unit < units_.size(); ++unit) {
    for (size_t i = 0; i < units_[unit]->members(); ++i) {
      const at::Tensor& gradient = gradients.at(order_[unit][i]);
      if (!gradient.defined()) continue;
      units_[unit]->add_gradient(i, gradient);
      arrive(unit, i);
    }
  }
  running_ = false;
  end_micro_batch(last);
}

void Sharded::arrive(size_t unit, size_t member) {
  if (!running_) {
    fail(Exit::unexpected, "a gradient reached a parameter from a loss of another objective",
         "freeze a network that a loss passes through but must not teach");
  }
  units_[unit]->arrive(member);
  if (!arrived_[unit][member]) {
    arrived_[unit][member] = true;
    missing_[unit] -= 1;
  }
  if (unit < block_units_) {
    blocks_->arrived(unit);
  } else if (reduces_) {
    start_ready_units();
  }
}

/// In a fixed order, or ranks would disagree: a unit that waits holds those behind it back.
void Sharded::start_ready_units() {
  for (size_t unit = block_units_; unit < units_.size(); ++unit) {
    if (reduced_[unit]) continue;
    if (missing_[unit] > 0) return;
    reduce(unit);
  }
}

void Sharded::reduce(size_t unit) {
  if (cuts_gradients_) finish_reductions(most_on_their_way - 1);
  units_[unit]->start_reduce();
  reduced_[unit] = true;
  on_their_way_.push_back(unit);
}

void Sharded::finish_reductions(size_t most_left) {
  while (on_their_way_.size() > most_left) {
    units_[on_their_way_.front()]->finish_reduce();
    on_their_way_.pop_front();
  }
}

bool Sharded::fail_step(const Votes& votes) {
  if (cuts_weights_ || exchanges_every_time_) {
    communicator_.abort();
    return false;
  }
  votes_ = votes;
  if (!reduces_) reduced_.assign(units_.size(), false);
  for (size_t unit = 0; unit < units_.size(); ++unit) {
    if (!reduced_[unit]) reduce(unit);
  }
  return true;
}

at::Tensor Sharded::reduce() {
  const at::NoGradGuard no_grad;
  finish_reductions(0);
  // The votes, the sum of squares, and for each member whether it had a gradient.
  std::vector<double> numbers;
  for (const bool vote : to_flags(votes_)) numbers.push_back(vote ? 1.0 : 0.0);
  numbers.push_back(0);
  at::Tensor squares;
  for (const auto& unit : units_) {
    squares = squares.defined() ? squares + unit->squared_norm() : unit->squared_norm();
    for (const bool touched : unit->touched()) numbers.push_back(touched ? 1.0 : 0.0);
  }
  at::Tensor sums = send(at::tensor(numbers, at::kDouble), communicator_.device());
  sums[static_cast<int64_t>(vote_count)].copy_(squares);
  if (votes_.non_finite_losses.defined())
    sums[non_finite_place].add_(votes_.non_finite_losses.to(sums.device()));
  communicator_.all_reduce(sums, larmor::Reduce::sum).wait();
  return sums;
}

Reduced Sharded::read_reduced(const at::Tensor& numbers) {
  const double* const number = numbers.const_data_ptr<double>();
  std::array<bool, vote_count> flags{};
  for (size_t i = 0; i < vote_count; ++i) flags[i] = number[i] > 0;
  Reduced reduced{.votes = from_flags(flags)};
  gradient_norm_ = std::sqrt(number[vote_count]);
  reduced.gradient_norm = gradient_norm_ / scale_.scale();
  reduced.finite = std::isfinite(reduced.gradient_norm);
  const double* member = number + vote_count + 1;
  used_.clear();
  for (const auto& unit : units_) {
    std::vector<bool> used;
    for (size_t i = 0; i < unit->members(); ++i) used.push_back(*member++ > 0);
    used_.push_back(std::move(used));
  }
  reduces_ = false;
  return reduced;
}

void Sharded::step(double learning_rate) {
  double factor = 1 / scale_.scale();
  // As torch.nn.utils.clip_grad_norm_ has it.
  if (clip_norm_ > 0) factor *= std::min(1.0, clip_norm_ / (gradient_norm_ / scale_.scale() + 1e-6));
  for (size_t unit = 0; unit < units_.size(); ++unit) {
    units_[unit]->step(learning_rate, factor, used_[unit]);
    // The next unit moves while this one's weights travel.
    if (!units_[unit]->cuts_weights()) units_[unit]->start_gather();
  }
  gather_all();
  scale_.update(/*overflowed=*/false);
}

void Sharded::gather_all() {
  for (const auto& unit : units_) {
    if (unit->cuts_weights()) continue;
    unit->start_gather();
    unit->finish_gather();
  }
}

void Sharded::skip() {
  scale_.update(/*overflowed=*/true);
  forget();
}

void Sharded::forget() {
  for (const auto& unit : units_) unit->drop();
}

void Sharded::share_buffers() {
  const TensorList buffers = buffers_of(module_);
  if (!buffers.empty()) adopt(buffers, bucket_bytes_, communicator_);
}

NamedTensors Sharded::collect(void (ShardedUnit::*from)(NamedTensors&)) {
  NamedTensors learned;
  for (const auto& unit : units_) ((*unit).*from)(learned);
  if (!communicator_.is_first()) return {};
  NamedTensors all = state_dict(module_);
  // By memory layout a parameter that two blocks share has two names, and only the first is in a unit.
  std::map<const c10::TensorImpl*, std::string> first_names;
  for (const auto& item : module_.named_parameters()) {
    const auto first = first_names.try_emplace(item.value().unsafeGetTensorImpl(), item.key()).first->second;
    const auto found = learned.find(first);
    if (found != learned.end()) all[item.key()] = found->second;
  }
  return all;
}

NamedTensors Sharded::weights() { return collect(&ShardedUnit::collect_weights); }

NamedTensors Sharded::average() { return collect(&ShardedUnit::collect_average); }

void Sharded::load_weights(const NamedTensors& weights) {
  {
    const WholeNetwork whole(*this);
    load_state_dict(module_, weights);
  }
  for (const auto& unit : units_) unit->load_weights(weights);
  gather_all();
}

void Sharded::hold_whole_network() {
  if (blocks_) blocks_->hold();
}

void Sharded::let_whole_network_go() {
  if (blocks_) blocks_->let_go();
}

void Sharded::use_average() {
  for (const auto& unit : units_) unit->use_average();
  gather_all();
}

void Sharded::use_live() {
  for (const auto& unit : units_) unit->use_live();
}

void Sharded::save(StateWriter& writer) const {
  for (const auto& unit : units_) unit->save(writer);
  if (!communicator_.is_first()) return;
  writer.value("steps", units_.front()->steps());
  scale_.save(writer);
}

void Sharded::load(const StateReader& reader) {
  for (const auto& unit : units_) unit->load(reader);
  scale_.load(reader);
}

}  // namespace larmor
