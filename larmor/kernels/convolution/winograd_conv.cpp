#include "larmor/kernels/convolution/winograd_conv.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/sum.h>

#include "larmor/base/ensure.h"
#include "larmor/kernels/convolution/winograd_cpu.h"
#include "larmor/kernels/operator.h"
#include "larmor/kernels/parallel_loop.h"
#include "larmor/kernels/vector_cpu.h"

namespace larmor {
namespace winograd {
namespace {

using at::Tensor;
using Optional = std::optional<Tensor>;
using Three = std::tuple<Tensor, Tensor, Tensor>;
using Forward =
    Operator<"winograd_conv", Tensor(const Tensor& volumes, const Tensor& kernel, const Optional& bias)>;
using Backward = Operator<"winograd_conv_backward", Three(const Tensor& gradient, const Tensor& volumes,
                                                          const Tensor& kernel, std::array<bool, 3> wanted)>;

constexpr std::array<int64_t, 3> one_each{1, 1, 1}, none_each{0, 0, 0};

Loops loops() {
  ensure(vector_cpu() != VectorCpu::other);
  return vector_cpu() == VectorCpu::avx512 ? loops_by_avx512() : loops_by_avx2();
}

/// A tensor [N, C, D, H, W] whose channels lie side by side in memory, and are in sixteens.
bool is_readable(const Tensor& tensor) {
  return tensor.scalar_type() == at::kFloat && tensor.is_contiguous(at::MemoryFormat::ChannelsLast3d) &&
         tensor.size(1) % channel_step == 0;
}

Shape shape_of(const Tensor& volumes, int64_t out) {
  return {.samples = volumes.size(0),
          .depth = volumes.size(2),
          .height = volumes.size(3),
          .width = volumes.size(4),
          .in = volumes.size(1),
          .out = out};
}

Tensor empty_volumes(const Tensor& like, int64_t channels) {
  return at::empty({like.size(0), channels, like.size(2), like.size(3), like.size(4)},
                   like.options().memory_format(at::MemoryFormat::ChannelsLast3d));
}

/// Of a kernel [out, in, 3, 3, 3], for results, or for gradients of volumes.
Tensor points_of(const Tensor& kernel, bool is_turned) {
  const Shape shape{1, 1, 1, 1, kernel.size(1), kernel.size(0)};
  const Tensor made = at::empty({points, kernel_step(shape)}, kernel.options().memory_format({}));
  const auto* const from = kernel.const_data_ptr<float>();
  auto* const to = made.mutable_data_ptr<float>();
  const int64_t tasks = is_turned ? shape.out : shape.out / channel_step;
  const auto run = is_turned ? loops().turned_kernel_points : loops().kernel_points;
  parallel_loop(0, tasks, /*grain=*/1, [&](int64_t first, int64_t end) { run(from, shape, first, end, to); });
  return made;
}

Tensor convolve(const Shape& shape, const Tensor& volumes, const Tensor& kernel_points, const float* bias) {
  const Tensor results = empty_volumes(volumes, shape.out);
  const Convolution with{.shape = shape,
                         .volumes = volumes.const_data_ptr<float>(),
                         .kernel = kernel_points.const_data_ptr<float>(),
                         .bias = bias,
                         .results = results.mutable_data_ptr<float>()};
  const auto run = loops().convolve;
  parallel_loop_with_memory(shape.blocks(), workspace(shape), [&](int64_t first, int64_t end, float* memory) {
    run(with, first, end, memory);
  });
  return results;
}

struct OfKernel {
  Tensor kernel, bias;
};

OfKernel gradients_of_kernel(const Tensor& gradient, const Tensor& volumes, const Tensor& kernel) {
  const Shape shape = shape_of(volumes, kernel.size(0));
  const int64_t parts = parts_of(shape);
  const auto options = volumes.options().memory_format({});
  const Tensor sums = at::empty({parts, points, kernel_step(shape)}, options);
  const Tensor bias_sums = at::empty({parts, shape.out}, options), of_kernel = at::empty_like(kernel);
  const KernelGradient with{.shape = shape,
                            .volumes = volumes.const_data_ptr<float>(),
                            .gradient = gradient.const_data_ptr<float>(),
                            .parts = parts,
                            .sums = sums.mutable_data_ptr<float>(),
                            .bias_sums = bias_sums.mutable_data_ptr<float>()};
  const Loops by = loops();
  parallel_loop_with_memory(parts, workspace(shape), [&](int64_t first, int64_t end, float* memory) {
    by.add_products(with, first, end, memory);
  });
  auto* const written = of_kernel.mutable_data_ptr<float>();
  parallel_loop(0, shape.out / channel_step, /*grain=*/1,
                [&](int64_t first, int64_t end) { by.kernel_gradient(with, first, end, written); });
  return {of_kernel, at::sum(bias_sums, 0)};
}

Tensor on_cpu(const Tensor& volumes, const Tensor& kernel, const Optional& bias) {
  ensure(is_readable(volumes) && is_readable(kernel) && kernel.size(0) % channel_step == 0);
  const Optional numbers = bias ? Optional(bias->contiguous()) : std::nullopt;
  return convolve(shape_of(volumes, kernel.size(0)), volumes, points_of(kernel, /*is_turned=*/false),
                  numbers ? numbers->const_data_ptr<float>() : nullptr);
}

Three backward_on_cpu(const Tensor& given, const Tensor& volumes, const Tensor& kernel,
                      std::array<bool, 3> wanted) {
  const Tensor gradient = given.contiguous(at::MemoryFormat::ChannelsLast3d);
  ensure(is_readable(gradient) && is_readable(volumes) && is_readable(kernel));
  Three found;
  if (wanted[0]) {
    std::get<0>(found) = convolve(shape_of(gradient, kernel.size(1)), gradient,
                                  points_of(kernel, /*is_turned=*/true), /*bias=*/nullptr);
  }
  if (wanted[1]) {
    auto [of_kernel, of_bias] = gradients_of_kernel(gradient, volumes, kernel);
    std::get<1>(found) = of_kernel;
    if (wanted[2]) std::get<2>(found) = of_bias;
  } else if (wanted[2]) {
    std::get<2>(found) = at::sum(gradient, {0, 2, 3, 4});
  }
  return found;
}

const Forward::Registration forward("(Tensor volumes, Tensor kernel, Tensor? bias) -> Tensor",
                                    {.cpu = on_cpu});
const Backward::Registration backward(
    "(Tensor gradient, Tensor volumes, Tensor kernel, bool[3] wanted) -> (Tensor, Tensor, Tensor)",
    {.cpu = backward_on_cpu});

struct WinogradConvolution : GradientNode<WinogradConvolution> {
  static Tensor forward(Context* context, const Tensor& volumes, const Tensor& kernel, const Optional& bias) {
    context->save_for_backward({volumes, kernel});
    context->saved_data["has_bias"] = bias.has_value();
    return Forward::call_below_autograd(volumes, kernel, bias);
  }

  static Variables backward(Context* context, const Variables& gradients) {
    const Variables saved = context->get_saved_variables();
    const Tensor &volumes = saved[0], &kernel = saved[1];
    const bool has_bias = context->saved_data["has_bias"].toBool();
    const std::array<bool, 3> wanted{context->needs_input_grad(0), context->needs_input_grad(1),
                                     has_bias && context->needs_input_grad(2)};
    const auto [of_volumes, of_kernel, of_bias] =
        at::GradMode::is_enabled()
            ? at::convolution_backward(gradients[0], volumes, kernel, std::array<int64_t, 1>{kernel.size(0)},
                                       one_each, one_each, one_each,
                                       /*transposed=*/false, none_each, /*groups=*/1, wanted)
            : winograd_conv_gradients(gradients[0], volumes, kernel, wanted);
    return {of_volumes, of_kernel, of_bias};
  }
};

bool is_kernel_of_threes(const Tensor& weight) {
  return weight.size(2) == 3 && weight.size(3) == 3 && weight.size(4) == 3;
}

}  // namespace
}  // namespace winograd

bool is_for_winograd(const Conv3dForm& form, const at::Tensor& input, const at::Tensor& weight) {
  using namespace winograd;
  // A kernel's points cost as much as those of so many tiles, and large ones are read from memory for each
  // block.
  constexpr int64_t fewest_tiles = 8, kernel_numbers_a_tile = 1024;
  const auto in_sixteens = [](int64_t channels) { return channels > 0 && channels % channel_step == 0; };
  const Shape shape = shape_of(input, weight.size(0));
  const int64_t fewest = std::max(fewest_tiles, shape.in * shape.out / kernel_numbers_a_tile);
  return vector_cpu() != VectorCpu::other && form.path != ConvPath::libtorch && form.type == at::kFloat &&
         form.layout == Layout::channels_last && is_kernel_of_threes(weight) && form.stride == one_each &&
         form.padding == one_each && in_sixteens(shape.in) && in_sixteens(shape.out) && shape.samples > 0 &&
         shape.tiles() >= fewest * shape.samples;
}

at::Tensor winograd_conv(const at::Tensor& volumes, const at::Tensor& kernel, const at::Tensor& bias) {
  return winograd::WinogradConvolution::apply(volumes, kernel, if_defined(bias));
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> winograd_conv_gradients(const at::Tensor& gradient,
                                                                       const at::Tensor& volumes,
                                                                       const at::Tensor& kernel,
                                                                       const std::array<bool, 3>& wanted) {
  return winograd::Backward::call_below_autograd(gradient, volumes, kernel, wanted);
}

}  // namespace larmor
