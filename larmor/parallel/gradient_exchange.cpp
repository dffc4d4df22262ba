#include "larmor/parallel/gradient_exchange.h"

#include <array>
#include <cassert>
#include <functional>
#include <utility>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_copy.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/device/send.h"
#include "larmor/parallel/vote_flags.h"

namespace larmor {
namespace {

/// A view shaped and, where the parameter's memory has no gaps, laid out like the parameter: then neither
/// the gradient's copy nor the optimizer has to transpose.
at::Tensor view_like(const at::Tensor& flat, int64_t offset, const at::Tensor& parameter) {
  if (parameter.is_non_overlapping_and_dense()) {
    return flat.as_strided(parameter.sizes(), parameter.strides(), offset);
  }
  return flat.narrow(0, offset, parameter.numel()).view(parameter.sizes());
}

c10::ScalarType type_of(Compression compression) {
  return compression == Compression::fp16 ? at::kHalf : at::kBFloat16;
}

}  // namespace

struct GradientExchange::Hook final : torch::autograd::PostAccumulateGradHook {
  Hook(GradientExchange* exchange, size_t index) : owner(exchange), parameter(index) {}
  void operator()(const at::Tensor&) override { owner->arrive(parameter); }
  GradientExchange* owner;
  size_t parameter;
};

GradientExchange::GradientExchange(std::vector<at::Tensor> parameters, std::vector<std::string> names,
                                   int64_t bucket_bytes, Compression compression, Communicator& communicator)
    : parameters_(std::move(parameters)),
      names_(std::move(names)),
      communicator_(communicator),
      compression_(compression) {
  assert(!parameters_.empty() && parameters_.size() == names_.size());
  std::vector<TensorSize> sizes;
  for (const at::Tensor& parameter : parameters_)
    sizes.push_back({parameter.numel(), parameter.scalar_type()});
  layout_ = cut_buckets(sizes, bucket_bytes);
  const auto tail_elements = static_cast<int64_t>(vote_count + parameters_.size());
  views_.resize(parameters_.size());
  bucket_of_.resize(parameters_.size());
  for (size_t bucket = 0; bucket < layout_.size(); ++bucket) {
    const Bucket& cut = layout_[bucket];
    const bool is_last = bucket + 1 == layout_.size();
    const auto options = at::TensorOptions().dtype(cut.type).device(parameters_[0].device());
    flat_.push_back(at::zeros({cut.elements + (is_last ? tail_elements : 0)}, options));
    if (is_last) tail_ = flat_.back().narrow(0, cut.elements, tail_elements);
    for (size_t member = 0; member < cut.members.size(); ++member) {
      const size_t parameter = cut.members[member];
      bucket_of_[parameter] = bucket;
      views_[parameter] = view_like(flat_.back(), cut.offsets[member], parameters_[parameter]);
    }
  }
  touched_.resize(parameters_.size());
  for (size_t i = 0; i < parameters_.size(); ++i) {
    torch::autograd::impl::set_post_acc_grad_hooks(parameters_[i], std::make_unique<Hook>(this, i));
  }
}

GradientExchange::~GradientExchange() {
  for (const at::Tensor& parameter : parameters_) {
    torch::autograd::impl::set_post_acc_grad_hooks(parameter, nullptr);
  }
}

void GradientExchange::begin_micro_batch(bool last, const Votes& votes) {
  last_ = last;
  votes_ = votes;
  arrived_.assign(parameters_.size(), false);
  missing_.clear();
  for (const Bucket& bucket : layout_) missing_.push_back(bucket.members.size());
}

/// Parameters that have had no gradient hold their bucket back, and with it those behind it.
void GradientExchange::end_micro_batch() {
  if (!last_) return;
  while (next_ < layout_.size()) start_bucket();
}

void GradientExchange::backward(const at::Tensor& loss, bool last, const Votes& votes) {
  begin_micro_batch(last, votes);
  running_ = true;
  try {
    torch::autograd::backward({loss}, {});
  } catch (...) {
    running_ = false;
    throw;
  }
  running_ = false;
  end_micro_batch();
}

void GradientExchange::receive(const std::vector<at::Tensor>& gradients, bool last, const Votes& votes) {
  assert(gradients.size() == parameters_.size());
  const at::NoGradGuard no_grad;
  begin_micro_batch(last, votes);
  std::vector<at::Tensor> empty_views, first, filled_views, more;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (!gradients[i].defined()) continue;
    (touched_[i] ? filled_views : empty_views).push_back(views_[i]);
    (touched_[i] ? more : first).push_back(gradients[i]);
    parameters_[i].mutable_grad() = views_[i];
    touched_[i] = true;
  }
  if (!first.empty()) at::_foreach_copy_(empty_views, first);
  if (!more.empty()) at::_foreach_add_(filled_views, more);
  end_micro_batch();
}

void GradientExchange::arrive(size_t parameter) {
  if (!running_) {
    fail(Exit::unexpected,
         text("a gradient reached parameter ", names_[parameter], " from a loss of another objective"),
         "freeze a network that a loss passes through but must not teach");
  }
  const at::NoGradGuard no_grad;
  const at::Tensor& gradient = parameters_[parameter].grad();
  at::Tensor& view = views_[parameter];
  // The first gradient of a step comes as a tensor of its own; later ones are added to the view in place.
  if (gradient.const_data_ptr() != view.const_data_ptr()) {
    view.copy_(gradient);
    parameters_[parameter].mutable_grad() = view;
  }
  touched_[parameter] = true;
  if (arrived_[parameter]) return;
  arrived_[parameter] = true;
  missing_[bucket_of_[parameter]] -= 1;
  if (last_) start_ready_buckets();
}

void GradientExchange::start_ready_buckets() {
  while (next_ < layout_.size() && missing_[next_] == 0) start_bucket();
}

void GradientExchange::start_bucket() {
  const at::NoGradGuard no_grad;
  for (const size_t member : layout_[next_].members) {
    if (!touched_[member]) views_[member].zero_();
  }
  if (next_ + 1 == layout_.size()) write_tail(votes_);
  at::Tensor gradients = flat_[next_];
  if (compression_ != Compression::none) {
    // Divided before it becomes narrow: a sum over many ranks may be beyond float16.
    gradients = (gradients / communicator_.size()).to(type_of(compression_));
    travelling_.push_back(gradients);
  }
  const Reduce operation = compression_ == Compression::none ? Reduce::mean : Reduce::sum;
  under_way_.push_back(communicator_.all_reduce(gradients, operation));
  next_ += 1;
}

void GradientExchange::write_tail(const Votes& votes) {
  std::vector<float> words;
  for (const bool vote : to_flags(votes)) words.push_back(vote ? 1.0F : 0.0F);
  for (const bool touched : touched_) words.push_back(touched ? 1.0F : 0.0F);
  tail_.copy_(send(at::tensor(words), tail_.device()));
  if (votes.non_finite_losses.defined())
    tail_[non_finite_place].add_(votes.non_finite_losses.to(tail_.device()));
}

void GradientExchange::fail_step(const Votes& votes) {
  const at::NoGradGuard no_grad;
  votes_ = votes;
  touched_.assign(parameters_.size(), false);
  while (next_ < layout_.size()) start_bucket();
}

at::Tensor GradientExchange::reduce() {
  const at::NoGradGuard no_grad;
  assert(next_ == layout_.size());
  for (Pending& pending : under_way_) pending.wait();
  under_way_.clear();
  for (size_t bucket = 0; bucket < travelling_.size(); ++bucket) flat_[bucket].copy_(travelling_[bucket]);
  travelling_.clear();
  return tail_;
}

Votes GradientExchange::read_reduced(const double* numbers) {
  // Means of zeros and ones: anything above zero says that at least one rank said so.
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const bool used = numbers[vote_count + i] > 0;
    parameters_[i].mutable_grad() = used ? views_[i] : at::Tensor();
  }
  std::array<bool, vote_count> flags{};
  for (size_t i = 0; i < vote_count; ++i) flags[i] = numbers[i] > 0;
  return from_flags(flags);
}

void GradientExchange::drop() {
  for (const at::Tensor& parameter : parameters_) parameter.mutable_grad() = at::Tensor();
  touched_.assign(parameters_.size(), false);
  next_ = 0;
}

}  // namespace larmor
