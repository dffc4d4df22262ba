#include "larmor/kernels/convolution/pointwise_conv.h"

#include <optional>

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/convolution_backward.h>

#include "larmor/kernels/linear_gradients.h"
#include "larmor/kernels/linear_layer.h"
#include "larmor/kernels/operator.h"

namespace larmor {
namespace {

using at::Tensor;
using Optional = std::optional<Tensor>;
using PerAxis = std::array<int64_t, 3>;

constexpr PerAxis one_an_axis{1, 1, 1}, none_an_axis{0, 0, 0};

/// Volumes [N, C, D, H, W] with channels last as [N D H W, C].
Tensor voxels_of(const Tensor& volumes) {
  return volumes.permute({0, 2, 3, 4, 1}).reshape({-1, volumes.size(1)}).contiguous();
}

struct PointwiseConvolution : GradientNode<PointwiseConvolution> {
  static Tensor forward(Context* context, const Tensor& volumes, const Tensor& kernel, const Optional& bias,
                        const Conv3dForm& form) {
    context->save_for_backward({volumes, kernel});
    context->saved_data["has_bias"] = bias.has_value();
    const at::AutoDispatchBelowADInplaceOrView below;
    return convolved(form, volumes, kernel, bias.value_or(Tensor()));
  }

  static Variables backward(Context* context, const Variables& gradients) {
    const Variables saved = context->get_saved_variables();
    const Tensor &volumes = saved[0], &kernel = saved[1], &gradient = gradients[0];
    const bool has_bias = context->saved_data["has_bias"].toBool();
    const std::array<bool, 3> wanted{context->needs_input_grad(0), context->needs_input_grad(1),
                                     has_bias && context->needs_input_grad(2)};
    const int64_t out = kernel.size(0), in = kernel.size(1);
    if (at::GradMode::is_enabled()) {
      const auto [of_volumes, of_kernel, of_bias] = at::convolution_backward(
          gradient, volumes, kernel, std::array<int64_t, 1>{out}, one_an_axis, none_an_axis, one_an_axis,
          /*transposed=*/false, none_an_axis, /*groups=*/1, wanted);
      return {of_volumes, of_kernel, of_bias, Tensor()};
    }
    LinearGradients found = linear_gradients(voxels_of(gradient), voxels_of(volumes),
                                             kernel.reshape({out, in}).contiguous(), wanted);
    if (wanted[0]) {
      const auto at = volumes.sizes();
      found.of_input = found.of_input.view({at[0], at[2], at[3], at[4], in}).permute({0, 4, 1, 2, 3});
    }
    if (wanted[1]) found.of_weight = found.of_weight.view(kernel.sizes());
    return {found.of_input, found.of_weight, found.of_bias, Tensor()};
  }
};

}  // namespace

bool is_pointwise(const Conv3dForm& form, const Tensor& input, const Tensor& weight) {
  const bool is_one_voxel = weight.size(2) == 1 && weight.size(3) == 1 && weight.size(4) == 1;
  return is_one_voxel && form.stride == one_an_axis && form.padding == none_an_axis &&
         form.path == ConvPath::one_dnn && form.within == Layout::channels_last &&
         form.layout == Layout::channels_last && is_layer_by_one_dnn(input, weight);
}

Tensor pointwise_conv(const Conv3dForm& form, const Tensor& volumes, const Tensor& kernel,
                      const Tensor& bias) {
  return PointwiseConvolution::apply(volumes, kernel, if_defined(bias), form);
}

}  // namespace larmor
