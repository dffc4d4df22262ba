#include "larmor/kernels/convolution/group_norm_silu_conv.h"

#include <optional>
#include <tuple>
#include <vector>

#include <ATen/core/grad_mode.h>
#include <ATen/core/ivalue.h>
#include <torch/custom_class.h>

#include "larmor/kernels/convolution/channel_bias.h"
#include "larmor/kernels/convolution/conv3d.h"
#include "larmor/kernels/convolution/conv3d_form.h"
#include "larmor/kernels/norms/group_norm_silu.h"
#include "larmor/kernels/norms/group_norm_silu_calls.h"
#include "larmor/kernels/operator.h"

namespace larmor {
namespace {

using at::Tensor;
using Optional = std::optional<Tensor>;
using PerAxis = std::array<int64_t, 3>;

/// What backward knows besides tensors.
struct NormedConvForm : torch::CustomClassHolder {
  NormedConvForm(int64_t of_groups, double of_epsilon, const Conv3dForm& of_conv)
      : groups(of_groups), epsilon(of_epsilon), conv(of_conv) {}
  int64_t groups;
  double epsilon;
  Conv3dForm conv;
};

struct NormedConvolution : GradientNode<NormedConvolution> {
  enum : size_t { of_input, of_kernel, of_norm_weight, of_norm_bias, of_bias, all_gradients };

  static Tensor forward(Context* context, const Tensor& input, const Tensor& kernel,
                        const Tensor& norm_weight, const Tensor& norm_bias, const Optional& bias,
                        const c10::intrusive_ptr<NormedConvForm>& form) {
    context->save_for_backward({input, kernel, norm_weight, norm_bias, bias.value_or(Tensor())});
    context->saved_data["form"] = c10::IValue::make_capsule(form);
    const at::AutoDispatchBelowADInplaceOrView below;
    const auto [normed, mean, rstd] = group_norms::Forward::call(input, norm_weight, norm_bias, form->groups,
                                                                 form->epsilon, /*activated=*/true);
    return convolved(form->conv, volumes_for(form->conv, normed), kernel, bias.value_or(Tensor()));
  }

  static Variables backward(Context* context, const Variables& gradients) {
    const Variables saved = context->get_saved_variables();
    const auto capsule = context->saved_data["form"].toCapsule();
    const auto& form = static_cast<const NormedConvForm&>(*capsule);
    if (at::GradMode::is_enabled()) return differentiably(context, form, saved, gradients[0]);
    const bool has_bias = saved[of_bias].defined();
    const std::array<bool, 3> wanted{true, context->needs_input_grad(of_kernel),
                                     has_bias && context->needs_input_grad(of_bias)};
    const at::AutoDispatchBelowADInplaceOrView below;
    auto [normed, mean, rstd] =
        group_norms::Forward::call(saved[of_input], saved[of_norm_weight], saved[of_norm_bias], form.groups,
                                   form.epsilon, /*activated=*/true);
    Tensor volumes = volumes_for(form.conv, normed);
    const at::ScalarType type = normed.scalar_type();
    normed.reset();
    auto [slopes, kernel, bias] =
        convolved_gradients(form.conv, gradients[0], volumes, saved[of_kernel], wanted);
    volumes.reset();
    auto [input, norm_weight, norm_bias] =
        group_norms::Backward::call(slopes.to(type), saved[of_input], saved[of_norm_weight],
                                    saved[of_norm_bias], mean, rstd, form.groups, /*activated=*/true);
    return {input, kernel, norm_weight, norm_bias, bias, Tensor()};
  }

  /// By the two operators, which have gradients of gradients.
  static Variables differentiably(Context* context, const NormedConvForm& form, const Variables& saved,
                                  const Tensor& gradient) {
    const Tensor normed = group_norm_silu(saved[of_input], form.groups, saved[of_norm_weight],
                                          saved[of_norm_bias], form.epsilon);
    const Tensor result =
        convolved(form.conv, volumes_for(form.conv, normed), saved[of_kernel], saved[of_bias]);
    return differentiable_gradients(*context, result, std::span(saved).first(all_gradients), gradient,
                                    all_gradients + 1);
  }
};

}  // namespace

Tensor group_norm_silu_conv(const Tensor& input, const GroupNormWeights& norm, const Tensor& weight,
                            const Tensor& bias, const PerAxis& stride, const PerAxis& padding) {
  if (!at::GradMode::is_enabled()) {
    return conv3d(group_norm_silu(input, norm.groups, norm.weight, norm.bias, norm.epsilon), weight, bias,
                  stride, padding);
  }
  const Conv3dForm form = conv3d_form(input, weight, stride, padding);
  const bool is_apart = has_bias_apart(form, input, bias);
  const Tensor laid_bias = is_apart ? Tensor() : bias_for(form, bias);
  const Tensor result =
      NormedConvolution::apply(input, kernel_for(form, weight), norm.weight, norm.bias, if_defined(laid_bias),
                               c10::make_intrusive<NormedConvForm>(norm.groups, norm.epsilon, form));
  return is_apart ? add_channel_bias(result, bias) : result;
}

}  // namespace larmor
