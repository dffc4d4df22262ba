#include "larmor/kernels/norms/batch_norm_operators.h"

#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include "larmor/base/ensure.h"
#include "larmor/kernels/norms/batch_norm_relu_cpu.h"
#include "larmor/kernels/norms/norm_tensors.h"

namespace larmor::batch_norms {

using at::Tensor;
using norms::elements_of;
using norms::for_pieces;
using norms::is_for_loops;
using norms::laid_out_as;
using norms::places_in;
using norms::visit_element;
using norms::whole;
using norms::widened;

namespace {

Shape shape_of(const Tensor& input) {
  ensure(input.dim() >= 2 && at::isFloatingType(input.scalar_type()));
  return batch_norms::shape_of(input.size(0), input.size(1), norms::voxels_of(input),
                               norms::lies_by_voxels(input));
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

Tensor empty_channels(const Tensor& input) {
  return at::empty({input.size(1)}, input.options().dtype(at::kDouble));
}

}  // namespace

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

void remember_on_cpu(const Tensor& mean, const Tensor& variance, const Tensor& count,
                     const Tensor& running_mean, const Tensor& running_variance, double momentum) {
  const Tensor unbiased = variance * (count / (count - 1).clamp_min(1));
  running_mean.mul_(1 - momentum).add_(mean, momentum);
  running_variance.mul_(1 - momentum).add_(unbiased, momentum);
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

void remember_on_meta(const Tensor& /*mean*/, const Tensor& /*variance*/, const Tensor& /*count*/,
                      const Tensor& /*running_mean*/, const Tensor& /*running_variance*/,
                      double /*momentum*/) {}

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

}  // namespace larmor::batch_norms
