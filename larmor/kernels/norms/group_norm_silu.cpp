#include "larmor/kernels/norms/group_norm_silu.h"

#include <optional>
#include <tuple>
#include <vector>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include "larmor/base/ensure.h"
#include "larmor/kernels/norms/group_norm_silu_calls.h"
#include "larmor/kernels/norms/group_norm_silu_cpu.h"
#include "larmor/kernels/norms/group_norm_silu_cuda.h"
#include "larmor/kernels/norms/group_norm_silu_plain.h"
#include "larmor/kernels/norms/norm_tensors.h"

namespace larmor {
namespace {

using at::Tensor;
using group_norms::Affine;
using group_norms::Bfloat16;
using group_norms::Coefficients;
using group_norms::GradientSums;
using group_norms::Moments;
using group_norms::Pieces;
using group_norms::Shape;
using norms::for_pieces;
using norms::has_channels_last;
using norms::is_for_loops;
using norms::laid_out_as;
using norms::whole;
using norms::widened;

using Optional = std::optional<Tensor>;
using Three = std::tuple<Tensor, Tensor, Tensor>;
using Forward = group_norms::Forward;
using Backward = group_norms::Backward;

Tensor or_undefined(const Optional& tensor) { return tensor.value_or(Tensor()); }

Shape shape_of(const Tensor& input, const Tensor& weight, const Tensor& bias, int64_t groups,
               bool activated) {
  ensure(input.dim() >= 2 && at::isFloatingType(input.scalar_type()));
  const int64_t channels = input.size(1);
  ensure(groups > 0 && channels % groups == 0);
  for (const Tensor& affine : {weight, bias}) ensure(!affine.defined() || affine.numel() == channels);
  return {.samples = input.size(0),
          .channels = channels,
          .voxels = norms::voxels_of(input),
          .groups = groups,
          .channels_last = has_channels_last(input),
          .activated = activated};
}

Tensor empty_statistics(const Tensor& input, int64_t groups) {
  return at::empty({input.size(0), groups}, input.options().dtype(at::kDouble));
}

/// Weight and bias as the loops take them.
struct WideAffine {
  WideAffine(const Tensor& narrow_weight, const Tensor& narrow_bias)
      : weight(widened(narrow_weight)), bias(widened(narrow_bias)) {}
  static const double* numbers_of(const Tensor& tensor) {
    return tensor.defined() ? tensor.const_data_ptr<double>() : nullptr;
  }
  Affine numbers() const { return {.weight = numbers_of(weight), .bias = numbers_of(bias)}; }

  Tensor weight, bias;
};

template <class Element>
void forward_on_cpu(const Shape& shape, const Affine& affine, double epsilon, const void* input_memory,
                    void* output_memory, double* mean, double* rstd) {
  const auto* const input = static_cast<const Element*>(input_memory);
  auto* const output = static_cast<Element*>(output_memory);
  const Pieces pieces(shape);
  std::vector<Moments> partial(static_cast<size_t>(pieces.count() * moments_of_a_piece(shape)));
  for_pieces(pieces, [&](int64_t first, int64_t end) {
    measure_pieces<group_norms::NumberOf<Element>>(shape, input, first, end, partial.data());
  });
  merge_moments(shape, partial, epsilon, mean, rstd);
  const auto by = forward_coefficients<group_norms::NumberOf<Element>>(shape, affine, mean, rstd);
  for_pieces(pieces,
             [&](int64_t first, int64_t end) { normalise_pieces(shape, by, input, first, end, output); });
}

/// What backward on a CPU reads and writes besides the elements.
struct BackwardNumbers {
  Affine affine;
  const double *mean, *rstd;
  double *of_weight, *of_bias;
};

template <class Element>
void backward_on_cpu(const Shape& shape, const BackwardNumbers& numbers, const void* input_memory,
                     const void* gradient_memory, void* of_input_memory) {
  const auto* const input = static_cast<const Element*>(input_memory);
  const auto* const gradient = static_cast<const Element*>(gradient_memory);
  auto* const of_input = static_cast<Element*>(of_input_memory);
  const Pieces pieces(shape);
  auto by =
      forward_coefficients<group_norms::NumberOf<Element>>(shape, numbers.affine, numbers.mean, numbers.rstd);
  std::vector<GradientSums> partial(static_cast<size_t>(pieces.count() * pieces.columns()));
  for_pieces(pieces, [&](int64_t first, int64_t end) {
    sum_gradient_pieces(shape, by, input, gradient, first, end, of_input, partial.data());
  });
  merge_gradient_sums(shape, numbers.affine, partial, numbers.mean, numbers.rstd, by, numbers.of_weight,
                      numbers.of_bias);
  for_pieces(pieces, [&](int64_t first, int64_t end) {
    differentiate_pieces(shape, by, input, gradient, first, end, of_input);
  });
}

Three on_cpu(const Tensor& given, const Optional& weight, const Optional& bias, int64_t groups,
             double epsilon, bool activated) {
  if (!is_for_loops(given)) {
    auto [output, mean, rstd] = on_cpu(given.to(at::kFloat), weight, bias, groups, epsilon, activated);
    return {output.to(given.scalar_type()), mean, rstd};
  }
  const Tensor input = whole(given), output = at::empty_like(input);
  const Tensor mean = empty_statistics(input, groups), rstd = at::empty_like(mean);
  const Shape shape = shape_of(input, or_undefined(weight), or_undefined(bias), groups, activated);
  const WideAffine affine(or_undefined(weight), or_undefined(bias));
  const auto run = input.scalar_type() == at::kDouble  ? forward_on_cpu<double>
                   : input.scalar_type() == at::kFloat ? forward_on_cpu<float>
                                                       : forward_on_cpu<Bfloat16>;
  run(shape, affine.numbers(), epsilon, input.const_data_ptr(), output.mutable_data_ptr(),
      mean.mutable_data_ptr<double>(), rstd.mutable_data_ptr<double>());
  return {output, mean, rstd};
}

/// Gradients of weight and bias have their type.
Tensor as_affine(const Tensor& gradient, const Optional& affine) {
  return affine && affine->defined() ? gradient.to(affine->scalar_type()) : gradient;
}

Three backward_on_cpu_of(const Tensor& given_gradient, const Tensor& given, const Optional& weight,
                         const Optional& bias, const Tensor& mean, const Tensor& rstd, int64_t groups,
                         bool activated) {
  if (!is_for_loops(given)) {
    auto [of_input, of_weight, of_bias] = backward_on_cpu_of(
        given_gradient.to(at::kFloat), given.to(at::kFloat), weight, bias, mean, rstd, groups, activated);
    return {of_input.to(given.scalar_type()), of_weight, of_bias};
  }
  const Tensor input = whole(given), gradient = laid_out_as(given_gradient, input);
  const Tensor of_input = at::empty_like(input);
  const Tensor of_weight = at::empty({input.size(1)}, mean.options()), of_bias = at::empty_like(of_weight);
  const Shape shape = shape_of(input, or_undefined(weight), or_undefined(bias), groups, activated);
  const WideAffine affine(or_undefined(weight), or_undefined(bias));
  const BackwardNumbers numbers{.affine = affine.numbers(),
                                .mean = mean.const_data_ptr<double>(),
                                .rstd = rstd.const_data_ptr<double>(),
                                .of_weight = of_weight.mutable_data_ptr<double>(),
                                .of_bias = of_bias.mutable_data_ptr<double>()};
  const auto run = input.scalar_type() == at::kDouble  ? backward_on_cpu<double>
                   : input.scalar_type() == at::kFloat ? backward_on_cpu<float>
                                                       : backward_on_cpu<Bfloat16>;
  run(shape, numbers, input.const_data_ptr(), gradient.const_data_ptr(), of_input.mutable_data_ptr());
  return {of_input, as_affine(of_weight, weight), as_affine(of_bias, bias)};
}

GroupNormOnGpu gpu_norm(const Tensor& input, const Optional& weight, const Optional& bias, const Tensor& mean,
                        const Tensor& rstd, int64_t groups, bool activated) {
  const Shape shape = shape_of(input, or_undefined(weight), or_undefined(bias), groups, activated);
  return {.input = input,
          .weight = norms::at_least_float32(or_undefined(weight)),
          .bias = norms::at_least_float32(or_undefined(bias)),
          .mean = mean,
          .rstd = rstd,
          .groups = groups,
          .channels_last = shape.channels_last,
          .activated = activated};
}

Three on_cuda(const Tensor& given, const Optional& weight, const Optional& bias, int64_t groups,
              double epsilon, bool activated) {
  const Tensor input = whole(given), output = at::empty_like(input);
  const Tensor mean = empty_statistics(input, groups), rstd = at::empty_like(mean);
  group_norm_on_gpu(gpu_norm(input, weight, bias, mean, rstd, groups, activated), epsilon, output);
  return {output, mean, rstd};
}

Three backward_on_cuda(const Tensor& given_gradient, const Tensor& given, const Optional& weight,
                       const Optional& bias, const Tensor& mean, const Tensor& rstd, int64_t groups,
                       bool activated) {
  const Tensor input = whole(given), gradient = laid_out_as(given_gradient, input);
  const Tensor of_input = at::empty_like(input);
  const Tensor of_weight = at::empty({input.size(1)}, mean.options()), of_bias = at::empty_like(of_weight);
  group_norm_backward_on_gpu(gpu_norm(input, weight, bias, mean, rstd, groups, activated), gradient, of_input,
                             of_weight, of_bias);
  return {of_input, as_affine(of_weight, weight), as_affine(of_bias, bias)};
}

Three on_meta(const Tensor& given, const Optional& weight, const Optional& bias, int64_t groups,
              double /*epsilon*/, bool activated) {
  const Tensor input = whole(given);
  shape_of(input, or_undefined(weight), or_undefined(bias), groups, activated);
  const Tensor mean = empty_statistics(input, groups);
  return {at::empty_like(input), mean, at::empty_like(mean)};
}

Three backward_on_meta(const Tensor& /*gradient*/, const Tensor& given, const Optional& weight,
                       const Optional& bias, const Tensor& mean, const Tensor& /*rstd*/, int64_t /*groups*/,
                       bool /*activated*/) {
  const Tensor of_weight = at::empty({given.size(1)}, mean.options());
  return {at::empty_like(whole(given)), as_affine(of_weight, weight),
          as_affine(at::empty_like(of_weight), bias)};
}

struct DifferentiableGroupNorm : GradientNode<DifferentiableGroupNorm> {
  static Variables forward(Context* context, const Tensor& input, const Optional& weight,
                           const Optional& bias, int64_t groups, double epsilon, bool activated) {
    const auto [output, mean, rstd] =
        Forward::call_below_autograd(input, weight, bias, groups, epsilon, activated);
    context->save_for_backward({input, or_undefined(weight), or_undefined(bias), mean, rstd});
    context->mark_non_differentiable({mean, rstd});
    context->saved_data["groups"] = groups;
    context->saved_data["epsilon"] = epsilon;
    context->saved_data["activated"] = activated;
    return {output, mean, rstd};
  }

  static Variables backward(Context* context, const Variables& gradients) {
    const Variables saved = context->get_saved_variables();
    const int64_t groups = context->saved_data["groups"].toInt();
    const bool activated = context->saved_data["activated"].toBool();
    const Optional weight = saved[1], bias = saved[2];
    const auto [of_input, of_weight, of_bias] =
        at::GradMode::is_enabled()
            ? plain_group_norm_backward(gradients[0], saved[0], saved[1], saved[2], groups,
                                        context->saved_data["epsilon"].toDouble(), activated)
            : Backward::call_below_autograd(gradients[0], saved[0], weight, bias, saved[3], saved[4], groups,
                                            activated);
    return {of_input,
            saved[1].defined() ? of_weight : Tensor(),
            saved[2].defined() ? of_bias : Tensor(),
            Tensor(),
            Tensor(),
            Tensor()};
  }
};

Three with_gradient(const Tensor& input, const Optional& weight, const Optional& bias, int64_t groups,
                    double epsilon, bool activated) {
  const auto all = DifferentiableGroupNorm::apply(input, weight, bias, groups, epsilon, activated);
  return {all[0], all[1], all[2]};
}

const Forward::Registration forward(
    "(Tensor input, Tensor? weight, Tensor? bias, int groups, float epsilon, bool activated)"
    " -> (Tensor, Tensor, Tensor)",
    {.cpu = on_cpu, .cuda = on_cuda, .meta = on_meta, .autograd = with_gradient});
const Backward::Registration backward(
    "(Tensor gradient, Tensor input, Tensor? weight, Tensor? bias, Tensor mean,"
    " Tensor rstd, int groups, bool activated) -> (Tensor, Tensor, Tensor)",
    {.cpu = backward_on_cpu_of,
     .cuda = backward_on_cuda,
     .meta = backward_on_meta,
     .autograd = Backward::refuse_gradient});

}  // namespace

at::Tensor normalise_groups(const at::Tensor& input, int64_t groups, const at::Tensor& weight,
                            const at::Tensor& bias, double epsilon) {
  return std::get<0>(Forward::call(input, if_defined(weight), if_defined(bias), groups, epsilon, false));
}

at::Tensor group_norm_silu(const at::Tensor& input, int64_t groups, const at::Tensor& weight,
                           const at::Tensor& bias, double epsilon) {
  return std::get<0>(Forward::call(input, if_defined(weight), if_defined(bias), groups, epsilon, true));
}

}  // namespace larmor
