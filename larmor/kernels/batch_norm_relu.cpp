#include "larmor/kernels/batch_norm_relu.h"

#include <bit>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "larmor/base/ensure.h"
#include "larmor/device/rank_sum.h"
#include "larmor/kernels/batch_norm_relu_cpu.h"
#include "larmor/kernels/batch_norm_relu_gpu.h"
#include "larmor/kernels/batch_norm_relu_plain.h"
#include "larmor/kernels/norm_tensors.h"

namespace larmor {
namespace batch_norms {
namespace {

using at::Tensor;
using norms::for_pieces;
using norms::is_for_loops;
using norms::laid_out_as;
using norms::whole;
using norms::widened;

using Optional = std::optional<Tensor>;
using Two = std::tuple<Tensor, Tensor>;
using MomentsOperator = Two(const Tensor&);
using ForwardOperator = Tensor(const Tensor&, const Optional&, const Tensor&, const Tensor&, const Tensor&,
                               const Tensor&, double, bool);
using SumsOperator = Two(const Tensor&, const Tensor&, const Optional&, const Tensor&, const Tensor&,
                         const Tensor&, const Tensor&, double, bool);
using BackwardOperator = Tensor(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                                const Tensor&, const Optional&, double, bool);

Shape shape_of(const Tensor& input) {
  ensure(input.dim() >= 2 && at::isFloatingType(input.scalar_type()));
  const int64_t voxels = norms::voxels_of(input);
  // One voxel's channels lie side by side in both layouts.
  return batch_norms::shape_of(input.size(0), input.size(1), voxels,
                               voxels == 1 || norms::has_channels_last(input));
}

/// Numbers of channels as the loops take them.
struct WideChannels {
  WideChannels(const Tensor& input, const Tensor& given_weight, const Tensor& given_bias,
               const Tensor& given_mean, const Tensor& given_variance, double given_epsilon)
      : weight(widened(given_weight)),
        bias(widened(given_bias)),
        mean(widened(given_mean)),
        variance(widened(given_variance)),
        epsilon(given_epsilon) {
    for (const Tensor& channels : {weight, bias, mean, variance}) ensure(channels.numel() == input.size(1));
  }
  Channels numbers() const {
    return {.weight = weight.const_data_ptr<double>(),
            .bias = bias.const_data_ptr<double>(),
            .mean = mean.const_data_ptr<double>(),
            .variance = variance.const_data_ptr<double>(),
            .epsilon = epsilon};
  }

  Tensor weight, bias, mean, variance;
  double epsilon;
};

/// Calls visit(an element of the input's type), for the type alone.
template <class Visit>
void visit_element(const Tensor& input, const Visit& visit) {
  if (input.scalar_type() == at::kDouble) {
    visit(double{});
  } else if (input.scalar_type() == at::kFloat) {
    visit(float{});
  } else {
    visit(Bfloat16{});
  }
}

template <class Element>
const Element* elements_of(const Tensor& tensor) {
  return static_cast<const Element*>(tensor.const_data_ptr());
}

template <class Element>
Element* places_in(const Tensor& tensor) {
  return static_cast<Element*>(tensor.mutable_data_ptr());
}

Tensor empty_channels(const Tensor& input) {
  return at::empty({input.size(1)}, input.options().dtype(at::kDouble));
}

Two moments_on_cpu(const Tensor& given) {
  if (!is_for_loops(given)) return moments_on_cpu(given.to(at::kFloat));
  const Tensor input = whole(given), mean = empty_channels(input), variance = empty_channels(input);
  const Shape shape = shape_of(input);
  const Pieces pieces(shape);
  std::vector<Moments> partial(static_cast<size_t>(pieces.count() * pieces.columns()));
  visit_element(input, [&](auto element) {
    using Element = decltype(element);
    const auto* const elements = elements_of<Element>(input);
    for_pieces(pieces, [&](int64_t first, int64_t end) {
      group_norms::measure_pieces<NumberOf<Element>>(shape, elements, first, end, partial.data());
    });
  });
  merge_moments(shape, partial, mean.mutable_data_ptr<double>(), variance.mutable_data_ptr<double>());
  return {mean, variance};
}

Tensor normalise_on_cpu(const Tensor& given, const Optional& given_added, const Tensor& weight,
                        const Tensor& bias, const Tensor& mean, const Tensor& variance, double epsilon,
                        bool activated) {
  if (!is_for_loops(given))
    return normalise_on_cpu(given.to(at::kFloat), given_added, weight, bias, mean, variance, epsilon,
                            activated)
        .to(given.scalar_type());
  const Tensor input = whole(given), output = at::empty_like(input);
  const Tensor added = given_added ? laid_out_as(*given_added, input) : Tensor();
  const Shape shape = shape_of(input);
  const WideChannels channels(input, weight, bias, mean, variance, epsilon);
  visit_element(input, [&](auto element) {
    using Element = decltype(element);
    const auto by = coefficients<NumberOf<Element>>(shape, channels.numbers(), nullptr);
    const Element* const more = added.defined() ? elements_of<Element>(added) : nullptr;
    const auto* const elements = elements_of<Element>(input);
    auto* const places = places_in<Element>(output);
    for_pieces(Pieces(shape), [&](int64_t first, int64_t end) {
      normalise_pieces(shape, by, elements, more, activated, first, end, places);
    });
  });
  return output;
}

Two sum_gradients_on_cpu(const Tensor& given_gradient, const Tensor& given, const Optional& given_output,
                         const Tensor& weight, const Tensor& bias, const Tensor& mean, const Tensor& variance,
                         double epsilon, bool activated) {
  if (!is_for_loops(given)) {
    const auto [below, sums] =
        sum_gradients_on_cpu(given_gradient.to(at::kFloat), given.to(at::kFloat), given_output, weight, bias,
                             mean, variance, epsilon, activated);
    return {below.defined() ? below.to(given.scalar_type()) : below, sums};
  }
  const Tensor input = whole(given), gradient = laid_out_as(given_gradient, input);
  const Tensor output = given_output ? laid_out_as(*given_output, input) : Tensor();
  const Tensor below = output.defined() ? at::empty_like(input) : Tensor();
  const Tensor sums = at::empty({2, input.size(1)}, input.options().dtype(at::kDouble));
  const Shape shape = shape_of(input);
  const Pieces pieces(shape);
  const WideChannels channels(input, weight, bias, mean, variance, epsilon);
  const Gate gate = !activated ? Gate::open : output.defined() ? Gate::output : Gate::input;
  std::vector<GradientSums> partial(static_cast<size_t>(pieces.count() * pieces.columns()));
  visit_element(input, [&](auto element) {
    using Element = decltype(element);
    const auto by = coefficients<NumberOf<Element>>(shape, channels.numbers(), nullptr);
    const auto *const elements = elements_of<Element>(input), *const slopes = elements_of<Element>(gradient);
    const Element* const results = output.defined() ? elements_of<Element>(output) : nullptr;
    Element* const places = below.defined() ? places_in<Element>(below) : nullptr;
    for_pieces(pieces, [&](int64_t first, int64_t end) {
      sum_gradient_pieces(shape, by, gate, elements, slopes, results, first, end, places, partial.data());
    });
    merge_gradient_sums(shape, channels.numbers(), partial,
                        std::vector<double>(by.centre.begin(), by.centre.end()),
                        sums.mutable_data_ptr<double>());
  });
  return {below, sums};
}

Tensor differentiate_on_cpu(const Tensor& given_gradient, const Tensor& given, const Tensor& weight,
                            const Tensor& bias, const Tensor& mean, const Tensor& variance,
                            const Optional& means, double epsilon, bool gated) {
  if (!is_for_loops(given))
    return differentiate_on_cpu(given_gradient.to(at::kFloat), given.to(at::kFloat), weight, bias, mean,
                                variance, means, epsilon, gated)
        .to(given.scalar_type());
  const Tensor input = whole(given), gradient = laid_out_as(given_gradient, input);
  const Tensor of_input = at::empty_like(input);
  const Tensor wide_means = means ? widened(*means) : Tensor();
  const Shape shape = shape_of(input);
  const WideChannels channels(input, weight, bias, mean, variance, epsilon);
  visit_element(input, [&](auto element) {
    using Element = decltype(element);
    const auto by = coefficients<NumberOf<Element>>(
        shape, channels.numbers(), wide_means.defined() ? wide_means.const_data_ptr<double>() : nullptr);
    const auto *const elements = elements_of<Element>(input), *const slopes = elements_of<Element>(gradient);
    auto* const places = places_in<Element>(of_input);
    for_pieces(Pieces(shape), [&](int64_t first, int64_t end) {
      differentiate_pieces(shape, by, gated ? Gate::input : Gate::open, elements, slopes, first, end, places);
    });
  });
  return of_input;
}

Two moments_on_meta(const Tensor& input) {
  shape_of(input);
  return {empty_channels(input), empty_channels(input)};
}

Tensor normalise_on_meta(const Tensor& input, const Optional& /*added*/, const Tensor& weight,
                         const Tensor& bias, const Tensor& mean, const Tensor& variance, double epsilon,
                         bool /*activated*/) {
  const WideChannels channels(input, weight, bias, mean, variance, epsilon);
  return at::empty_like(whole(input));
}

Two sum_gradients_on_meta(const Tensor& /*gradient*/, const Tensor& input, const Optional& output,
                          const Tensor& /*weight*/, const Tensor& /*bias*/, const Tensor& /*mean*/,
                          const Tensor& /*variance*/, double /*epsilon*/, bool /*activated*/) {
  return {output ? at::empty_like(whole(input)) : Tensor(),
          at::empty({2, input.size(1)}, input.options().dtype(at::kDouble))};
}

Tensor differentiate_on_meta(const Tensor& /*gradient*/, const Tensor& input, const Tensor& /*weight*/,
                             const Tensor& /*bias*/, const Tensor& /*mean*/, const Tensor& /*variance*/,
                             const Optional& /*means*/, double /*epsilon*/, bool /*gated*/) {
  return at::empty_like(whole(input));
}

/// Requires: no other operator has this signature.
template <class Signature, class... Arguments>
auto call(const char* name, const Arguments&... arguments) {
  static const auto handle = c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
  const at::AutoDispatchBelowADInplaceOrView below;
  return handle.call(arguments...);
}

// In the source that the operators are called through: a program that is linked from archives has them then.
TORCH_LIBRARY_FRAGMENT(larmor, library) {
  library.def("batch_norm_moments(Tensor input) -> (Tensor, Tensor)");
  library.def(
      "batch_norm_relu(Tensor input, Tensor? residual, Tensor weight, Tensor bias, Tensor mean,"
      " Tensor variance, float epsilon, bool activated) -> Tensor");
  library.def(
      "batch_norm_relu_sums(Tensor gradient, Tensor input, Tensor? output, Tensor weight, Tensor bias,"
      " Tensor mean, Tensor variance, float epsilon, bool activated) -> (Tensor, Tensor)");
  library.def(
      "batch_norm_relu_backward(Tensor gradient, Tensor input, Tensor weight, Tensor bias, Tensor mean,"
      " Tensor variance, Tensor? means, float epsilon, bool gated) -> Tensor");
}

TORCH_LIBRARY_IMPL(larmor, CPU, library) {
  library.impl("batch_norm_moments", moments_on_cpu);
  library.impl("batch_norm_relu", normalise_on_cpu);
  library.impl("batch_norm_relu_sums", sum_gradients_on_cpu);
  library.impl("batch_norm_relu_backward", differentiate_on_cpu);
}

TORCH_LIBRARY_IMPL(larmor, CUDA, library) {
  library.impl("batch_norm_moments", moments_on_gpu);
  library.impl("batch_norm_relu", normalise_on_gpu);
  library.impl("batch_norm_relu_sums", sum_gradients_on_gpu);
  library.impl("batch_norm_relu_backward", differentiate_on_gpu);
}

TORCH_LIBRARY_IMPL(larmor, Meta, library) {
  library.impl("batch_norm_moments", moments_on_meta);
  library.impl("batch_norm_relu", normalise_on_meta);
  library.impl("batch_norm_relu_sums", sum_gradients_on_meta);
  library.impl("batch_norm_relu_backward", differentiate_on_meta);
}

using Context = torch::autograd::AutogradContext;
using Variables = torch::autograd::variable_list;

/// What backward knows besides tensors.
struct Setting {
  bool activated, constant_moments, adds;
  double epsilon;
  RankSum* ranks;  // null for a rank on its own
};

struct DifferentiableBatchNorm : torch::autograd::Function<DifferentiableBatchNorm> {
  static Tensor forward(Context* context, const Tensor& input, const Tensor& weight, const Tensor& bias,
                        const Optional& residual, const BatchMoments& moments, const Setting& setting) {
    const Tensor output =
        call<ForwardOperator>("larmor::batch_norm_relu", input, residual, weight, bias, moments.mean,
                              moments.variance, setting.epsilon, setting.activated);
    // Where nothing was added, a CPU computes again where ReLU let values through.
    const bool keeps_output = setting.activated && (setting.adds || input.is_cuda());
    // As a tensor of its own: a block that is computed again may stop while this node saves its tensors, and
    // the output itself would hold the node that holds it for ever.
    context->save_for_backward({input, weight, bias, moments.mean, moments.variance, moments.count,
                                keeps_output ? output.detach() : Tensor()});
    context->saved_data["activated"] = setting.activated;
    context->saved_data["constant"] = setting.constant_moments;
    context->saved_data["adds"] = setting.adds;
    context->saved_data["epsilon"] = setting.epsilon;
    context->saved_data["ranks"] = std::bit_cast<int64_t>(setting.ranks);
    return output;
  }

  static Setting setting_of(Context& context) {
    return {.activated = context.saved_data["activated"].toBool(),
            .constant_moments = context.saved_data["constant"].toBool(),
            .adds = context.saved_data["adds"].toBool(),
            .epsilon = context.saved_data["epsilon"].toDouble(),
            .ranks = std::bit_cast<RankSum*>(context.saved_data["ranks"].toInt())};
  }

  static Variables backward(Context* context, const Variables& gradients) {
    const Setting setting = setting_of(*context);
    const Variables saved = context->get_saved_variables();
    const Tensor &input = saved[0], &weight = saved[1], &bias = saved[2], &mean = saved[3],
                 &variance = saved[4];
    const Optional output = saved[6].defined() ? Optional(saved[6]) : std::nullopt;
    if (at::GradMode::is_enabled()) {
      ensure(setting.ranks == nullptr);  // the sums of ranks have no second derivative
      return differentiably(saved, gradients[0], setting);
    }
    const auto [masked, sums] =
        call<SumsOperator>("larmor::batch_norm_relu_sums", gradients[0], input, output, weight, bias, mean,
                           variance, setting.epsilon, setting.activated);
    const Tensor& below = masked.defined() ? masked : gradients[0];
    Tensor of_input;
    if (context->needs_input_grad(0)) {
      Optional means;
      if (!setting.constant_moments) {
        Tensor all = sums;
        if (setting.ranks != nullptr) setting.ranks->add_up(all = sums.clone());
        means = all / saved[5];
      }
      of_input =
          call<BackwardOperator>("larmor::batch_norm_relu_backward", below, input, weight, bias, mean,
                                 variance, means, setting.epsilon, setting.activated && !masked.defined());
    }
    return {of_input, sums[0], sums[1], setting.adds ? below : Tensor(), Tensor(), Tensor()};
  }

  static Variables differentiably(const Variables& saved, const Tensor& gradient, const Setting& setting) {
    const BatchMoments moments{.mean = saved[3], .variance = saved[4], .count = saved[5]};
    const BatchNormParts parts{.weight = saved[1],
                               .bias = saved[2],
                               .residual = setting.adds ? saved[0] : Tensor(),
                               .activated = setting.activated,
                               .constant_moments = setting.constant_moments,
                               .epsilon = setting.epsilon};
    const auto [of_input, of_weight, of_bias, of_residual] =
        plain_batch_norm_backward(gradient, saved[0], moments, parts, saved[6]);
    return {of_input, of_weight, of_bias, of_residual, Tensor(), Tensor()};
  }
};

}  // namespace
}  // namespace batch_norms

BatchMoments batch_moments(const at::Tensor& input, RankSum* ranks) {
  using batch_norms::call, batch_norms::MomentsOperator;
  const at::NoGradGuard no_gradient;
  ensure(input.dim() >= 2);
  const int64_t channels = input.size(1), values = channels == 0 ? 0 : input.numel() / channels;
  auto [mean, variance] = call<MomentsOperator>("larmor::batch_norm_moments", input);
  at::Tensor count = at::full({1}, values, mean.options());
  if (ranks == nullptr) return {.mean = mean, .variance = variance, .count = count};
  // Float64 has room for squares: a mean of thousand deviations costs the variance six of its sixteen digits.
  const at::Tensor sums = at::empty({2 * channels + 1}, mean.options());
  sums.narrow(0, 0, channels).copy_(mean * count);
  sums.narrow(0, channels, channels).copy_((variance + mean.square()) * count);
  sums.narrow(0, 2 * channels, 1).copy_(count);
  ranks->add_up(sums);
  count = sums.narrow(0, 2 * channels, 1);
  mean = sums.narrow(0, 0, channels) / count;
  variance = (sums.narrow(0, channels, channels) / count - mean.square()).clamp_min(0);
  return {.mean = mean, .variance = variance, .count = count};
}

at::Tensor batch_norm_relu(const at::Tensor& input, const BatchMoments& moments, const BatchNormParts& parts,
                           RankSum* ranks) {
  const bool adds = parts.residual.defined();
  // Outside of the operator, so that the residual's gradient has its type.
  const std::optional<at::Tensor> residual =
      adds ? std::optional(parts.residual.to(input.scalar_type())) : std::nullopt;
  ensure(!adds || residual->sizes() == input.sizes());
  return batch_norms::DifferentiableBatchNorm::apply(
      input, parts.weight, parts.bias, residual, moments,
      batch_norms::Setting{.activated = parts.activated,
                           .constant_moments = parts.constant_moments,
                           .adds = adds,
                           .epsilon = parts.epsilon,
                           .ranks = ranks});
}

}  // namespace larmor
