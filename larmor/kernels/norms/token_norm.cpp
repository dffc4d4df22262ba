#include "larmor/kernels/norms/token_norm.h"

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include "larmor/base/ensure.h"
#include "larmor/kernels/norms/norm_tensors.h"
#include "larmor/kernels/norms/token_norm_cpu.h"
#include "larmor/kernels/norms/token_norm_operators.h"
#include "larmor/kernels/operator.h"
#include "larmor/kernels/parallel_loop.h"

namespace larmor {
namespace token_norms {
namespace {

using at::Tensor;
using norms::elements_of;
using norms::places_in;
using norms::visit_element;
using Optional = std::optional<Tensor>;
using Three = std::tuple<Tensor, Tensor, Tensor>;
using Five = std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor>;
using Forward = Operator<"token_norm", Three(const Tensor& input, const Tensor& weight, const Tensor& bias,
                                             const Optional& scale, const Optional& shift, double epsilon)>;
using Backward =
    Operator<"token_norm_backward",
             Five(const Tensor& gradient, const Tensor& input, const Tensor& weight, const Tensor& bias,
                  const Optional& scale, const Optional& shift, const Tensor& mean, const Tensor& rstd)>;

Arguments arguments(const Tensor& input, const Tensor& weight, const Tensor& bias, const Optional& scale,
                    const Optional& shift) {
  Arguments given{.input = input,
                  .weight = weight,
                  .bias = bias,
                  .scale = scale.value_or(Tensor()),
                  .shift = shift.value_or(Tensor())};
  ensure(input.dim() >= 1 && at::isFloatingType(input.scalar_type()));
  ensure(given.scale.defined() == given.shift.defined());
  const int64_t channels = input.size(-1);
  ensure(weight.sizes() == at::IntArrayRef({channels}) && bias.sizes() == at::IntArrayRef({channels}));
  if (given.scale.defined()) {
    ensure(input.dim() >= 2);
    const std::array<int64_t, 2> of_samples{input.size(0), channels};
    ensure(given.scale.sizes() == at::IntArrayRef(of_samples) &&
           given.shift.sizes() == at::IntArrayRef(of_samples));
  }
  return given;
}

at::ScalarType number_type(const Tensor& input) {
  return input.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

/// Samples are told apart only where each has a modulation of its own.
Shape shape_of(const Arguments& given) {
  const int64_t channels = given.input.size(-1), all = given.input.numel() / std::max<int64_t>(channels, 1);
  const int64_t samples = given.scale.defined() ? given.input.size(0) : 1;
  return {.samples = samples, .tokens = all / std::max<int64_t>(samples, 1), .channels = channels};
}

Tensor empty_statistics(const Tensor& input) {
  return at::empty(input.sizes().slice(0, static_cast<size_t>(input.dim() - 1)),
                   input.options().dtype(number_type(input)));
}

/// Weight, bias, scale and shift in float64, [samples, C] the latter.
struct Wide {
  explicit Wide(const Arguments& given)
      : weight(norms::widened(given.weight)),
        bias(norms::widened(given.bias)),
        scale(norms::widened(given.scale)),
        shift(norms::widened(given.shift)) {}
  static double number(const Tensor& tensor, int64_t place, double otherwise) {
    return tensor.defined() ? tensor.const_data_ptr<double>()[place] : otherwise;
  }

  Tensor weight, bias, scale, shift;
};

/// Gains and offsets as the loops take them.
template <class Number>
struct Gains {
  Gains(const Shape& shape, const Wide& wide)
      : gain(static_cast<size_t>(shape.samples * shape.channels)),
        offset(gain.size()),
        samples(shape.samples) {
    for (int64_t i = 0; i < samples * shape.channels; ++i) {
      const double more = 1 + Wide::number(wide.scale, i, 0);
      const int64_t channel = i % shape.channels;
      gain[static_cast<size_t>(i)] = static_cast<Number>(Wide::number(wide.weight, channel, 1) * more);
      offset[static_cast<size_t>(i)] =
          static_cast<Number>(Wide::number(wide.bias, channel, 0) * more + Wide::number(wide.shift, i, 0));
    }
  }
  Modulation<Number> numbers() const {
    return {.gain = gain.data(), .offset = offset.data(), .samples = samples};
  }

  std::vector<Number> gain, offset;
  int64_t samples;
};

Three forward_on_cpu(const Tensor& given_input, const Tensor& weight, const Tensor& bias,
                     const Optional& scale, const Optional& shift, double epsilon) {
  if (!norms::is_for_loops(given_input)) {
    auto [output, mean, rstd] =
        forward_on_cpu(given_input.to(at::kFloat), weight, bias, scale, shift, epsilon);
    return {output.to(given_input.scalar_type()), mean, rstd};
  }
  const Tensor input = given_input.contiguous(), output = at::empty_like(input);
  const Arguments given = arguments(input, weight, bias, scale, shift);
  const Tensor mean = empty_statistics(input), rstd = at::empty_like(mean);
  const Shape shape = shape_of(given);
  visit_element(input, [&](auto element) {
    using Element = decltype(element);
    using Number = NumberOf<Element>;
    const Gains<Number> gains(shape, Wide(given));
    const auto* const from = elements_of<Element>(input);
    auto* const to = places_in<Element>(output);
    auto* const means = mean.mutable_data_ptr<Number>();
    auto* const scales = rstd.mutable_data_ptr<Number>();
    parallel_loop(0, Pieces(shape).count(), /*grain=*/1, [&](int64_t first, int64_t end) {
      normalise(shape, gains.numbers(), epsilon, from, first, end, to, means, scales);
    });
  });
  return {output, mean, rstd};
}

/// The gradients of numbers of channels, from sums [samples, 2, C].
Five gradients_of(const Tensor& of_input, const Arguments& given, const Tensor& sums) {
  const Tensor plain = sums.select(1, 0), weighed = sums.select(1, 1);
  if (!given.scale.defined())
    return {of_input, weighed.squeeze(0).to(given.weight.scalar_type()),
            plain.squeeze(0).to(given.bias.scalar_type()), Tensor(), Tensor()};
  const Tensor more = 1 + given.scale.to(at::kDouble);
  const Tensor of_scale = weighed * given.weight.to(at::kDouble) + plain * given.bias.to(at::kDouble);
  return {of_input, (weighed * more).sum(0).to(given.weight.scalar_type()),
          (plain * more).sum(0).to(given.bias.scalar_type()), of_scale.to(given.scale.scalar_type()),
          plain.to(given.shift.scalar_type())};
}

Five backward_on_cpu(const Tensor& given_gradient, const Tensor& given_input, const Tensor& weight,
                     const Tensor& bias, const Optional& scale, const Optional& shift, const Tensor& mean,
                     const Tensor& rstd) {
  if (!norms::is_for_loops(given_input)) {
    auto [of_input, of_weight, of_bias, of_scale, of_shift] = backward_on_cpu(
        given_gradient.to(at::kFloat), given_input.to(at::kFloat), weight, bias, scale, shift, mean, rstd);
    return {of_input.to(given_input.scalar_type()), of_weight, of_bias, of_scale, of_shift};
  }
  const Tensor input = given_input.contiguous(), of_input = at::empty_like(input);
  const Tensor gradient = given_gradient.to(input.scalar_type()).contiguous();
  const Arguments given = arguments(input, weight, bias, scale, shift);
  const Shape shape = shape_of(given);
  const Tensor sums = at::empty({shape.samples, 2, shape.channels}, input.options().dtype(at::kDouble));
  visit_element(input, [&](auto element) {
    using Element = decltype(element);
    using Number = NumberOf<Element>;
    const Gains<Number> gains(shape, Wide(given));
    const auto* const from = elements_of<Element>(input);
    const auto* const slopes = elements_of<Element>(gradient);
    const auto* const means = mean.const_data_ptr<Number>();
    const auto* const scales = rstd.const_data_ptr<Number>();
    auto* const to = places_in<Element>(of_input);
    const int64_t pieces = Pieces(shape).count();
    std::vector<Number> partial(static_cast<size_t>(pieces * 2 * shape.channels));
    parallel_loop(0, pieces, /*grain=*/1, [&](int64_t first, int64_t end) {
      differentiate(shape, gains.numbers(), from, slopes, means, scales, first, end, to, partial.data());
    });
    add_pieces(shape, partial, sums.mutable_data_ptr<double>());
  });
  return gradients_of(of_input, given, sums);
}

Three forward_on_cuda(const Tensor& input, const Tensor& weight, const Tensor& bias, const Optional& scale,
                      const Optional& shift, double epsilon) {
  return forward_by_operators(arguments(input, weight, bias, scale, shift), epsilon);
}

Five backward_on_cuda(const Tensor& gradient, const Tensor& input, const Tensor& weight, const Tensor& bias,
                      const Optional& scale, const Optional& shift, const Tensor& mean, const Tensor& rstd) {
  const Gradients found =
      backward_by_operators(gradient, arguments(input, weight, bias, scale, shift), mean, rstd);
  return {found.input, found.weight, found.bias, found.scale, found.shift};
}

Three forward_on_meta(const Tensor& given_input, const Tensor& weight, const Tensor& bias,
                      const Optional& scale, const Optional& shift, double /*epsilon*/) {
  const Tensor input = given_input.contiguous();
  arguments(input, weight, bias, scale, shift);
  const Tensor mean = empty_statistics(input);
  return {at::empty_like(input), mean, at::empty_like(mean)};
}

Five backward_on_meta(const Tensor& /*gradient*/, const Tensor& input, const Tensor& weight,
                      const Tensor& bias, const Optional& scale, const Optional& shift,
                      const Tensor& /*mean*/, const Tensor& /*rstd*/) {
  const auto like = [](const Optional& tensor) {
    return tensor ? at::empty_like(*tensor, at::MemoryFormat::Contiguous) : Tensor();
  };
  return {like(input), like(weight), like(bias), like(scale), like(shift)};
}

struct DifferentiableTokenNorm : GradientNode<DifferentiableTokenNorm> {
  enum : size_t { of_input, of_weight, of_bias, of_scale, of_shift, all_gradients };

  static Variables forward(Context* context, const Tensor& input, const Tensor& weight, const Tensor& bias,
                           const Optional& scale, const Optional& shift, double epsilon) {
    const auto [output, mean, rstd] =
        Forward::call_below_autograd(input, weight, bias, scale, shift, epsilon);
    context->save_for_backward(
        {input, weight, bias, scale.value_or(Tensor()), shift.value_or(Tensor()), mean, rstd});
    context->mark_non_differentiable({mean, rstd});
    context->saved_data["epsilon"] = epsilon;
    return {output, mean, rstd};
  }

  static Variables backward(Context* context, const Variables& gradients) {
    const Variables saved = context->get_saved_variables();
    if (at::GradMode::is_enabled()) return differentiably(context, saved, gradients[0]);
    const auto [input, weight, bias, scale, shift] = Backward::call_below_autograd(
        gradients[0], saved[of_input], saved[of_weight], saved[of_bias], if_defined(saved[of_scale]),
        if_defined(saved[of_shift]), saved[5], saved[6]);
    return {input, weight, bias, scale, shift, Tensor()};
  }

  static Variables differentiably(Context* context, const Variables& saved, const Tensor& gradient) {
    const Arguments given{.input = saved[of_input],
                          .weight = saved[of_weight],
                          .bias = saved[of_bias],
                          .scale = saved[of_scale],
                          .shift = saved[of_shift]};
    const Tensor result = plain_token_norm(given, context->saved_data["epsilon"].toDouble());
    return differentiable_gradients(*context, result, std::span(saved).first(all_gradients), gradient,
                                    all_gradients + 1);
  }
};

Three with_gradient(const Tensor& input, const Tensor& weight, const Tensor& bias, const Optional& scale,
                    const Optional& shift, double epsilon) {
  const auto all = DifferentiableTokenNorm::apply(input, weight, bias, scale, shift, epsilon);
  return {all[0], all[1], all[2]};
}

const Forward::Registration forward(
    "(Tensor input, Tensor weight, Tensor bias, Tensor? scale, Tensor? shift, float epsilon)"
    " -> (Tensor, Tensor, Tensor)",
    {.cpu = forward_on_cpu, .cuda = forward_on_cuda, .meta = forward_on_meta, .autograd = with_gradient});
const Backward::Registration backward(
    "(Tensor gradient, Tensor input, Tensor weight, Tensor bias, Tensor? scale, Tensor? shift, Tensor mean,"
    " Tensor rstd) -> (Tensor, Tensor, Tensor, Tensor, Tensor)",
    {.cpu = backward_on_cpu,
     .cuda = backward_on_cuda,
     .meta = backward_on_meta,
     .autograd = Backward::refuse_gradient});

}  // namespace
}  // namespace token_norms

at::Tensor normalise_tokens(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias,
                            double epsilon) {
  return std::get<0>(token_norms::Forward::call(input, weight, bias, std::nullopt, std::nullopt, epsilon));
}

at::Tensor normalise_and_modulate(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias,
                                  const at::Tensor& scale, const at::Tensor& shift, double epsilon) {
  return std::get<0>(token_norms::Forward::call(input, weight, bias, scale, shift, epsilon));
}

}  // namespace larmor
