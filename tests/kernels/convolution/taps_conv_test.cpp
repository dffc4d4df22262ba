#include "larmor/kernels/convolution/taps_conv.h"

#include <limits>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "larmor/device/layout.h"
#include "larmor/kernels/draw/draw.h"

#include "tests/kernels/support/outputs_and_gradients.h"

namespace larmor::testing {
namespace {

using at::Tensor;
using PerAxis = std::array<int64_t, 3>;

struct TapsCase {
  std::vector<int64_t> image, kernel;  // [N, 1, D, H, W] and [O, 1, d, h, w]
  PerAxis stride, padding;
  bool has_bias = true;
};

const TapsCase taps_cases[] = {
    {{2, 1, 9, 10, 11}, {4, 1, 7, 7, 7}, {1, 1, 1}, {3, 3, 3}},
    {{1, 1, 16, 17, 18}, {3, 1, 7, 7, 7}, {2, 2, 2}, {3, 3, 3}},
    {{1, 1, 8, 9, 20}, {3, 1, 5, 3, 5}, {2, 1, 3}, {2, 1, 0}, false},
    {{1, 1, 4, 4, 12}, {2, 1, 1, 2, 8}, {1, 1, 1}, {0, 1, 2}},
    {{1, 1, 3, 3, 3}, {2, 1, 3, 3, 3}, {1, 1, 1}, {1, 1, 1}},
};

std::vector<Tensor> output_and_gradients(const TapsCase& given, bool by_taps) {
  const auto learnt = [](const char* name, at::IntArrayRef sizes) {
    return draw_normal(4, name, sizes).to(at::kDouble).requires_grad_();
  };
  const Tensor volumes = learnt("volumes", given.image), kernel = learnt("kernel", given.kernel);
  const Tensor bias = given.has_bias ? learnt("bias", {given.kernel[0]}) : Tensor();
  const Tensor output = by_taps ? taps_conv(volumes, kernel, bias, given.stride, given.padding)
                                : at::conv3d(volumes, kernel, bias, given.stride, given.padding);
  output.backward(draw_normal(4, "gradient", output.sizes()).to(at::kDouble));
  std::vector<Tensor> all{output.detach(), volumes.grad(), kernel.grad()};
  if (given.has_bias) all.push_back(bias.grad());
  return all;
}

TEST(TapsConv, IsAConvolutionWithItsGradients) {
  for (const TapsCase& given : taps_cases) {
    SCOPED_TRACE(at::IntArrayRef(given.kernel));
    EXPECT_LT(most_apart(output_and_gradients(given, true), output_and_gradients(given, false)), 1e-13);
  }
}

TEST(TapsConv, SpreadsWhatIsNoNumberNoFurtherThanTheKernelReaches) {
  Tensor volumes = at::zeros({1, 1, 5, 5, 20}, at::kDouble);
  volumes[0][0][2][2][10] = std::numeric_limits<double>::infinity();
  const Tensor kernel = at::ones({1, 1, 5, 5, 5}, at::kDouble);
  const Tensor output = taps_conv(volumes, kernel, {}, {1, 1, 1}, {2, 2, 2});
  EXPECT_TRUE(output.slice(4, 0, 8).isfinite().all().item<bool>());
  EXPECT_TRUE(output.slice(4, 13).isfinite().all().item<bool>());
  EXPECT_TRUE(output.slice(4, 8, 13).isinf().all().item<bool>());
}

TEST(TapsConv, IsForGpusAlone) {
  const LayoutScope layout(Layout::channels_last);
  const Tensor input = at::ones({1, 1, 8, 8, 8}, at::kBFloat16),
               weight = at::ones({4, 1, 7, 7, 7}, at::kBFloat16);
  EXPECT_FALSE(takes_taps(conv3d_form(input, weight, {1, 1, 1}, {3, 3, 3}), input, weight));
}

}  // namespace
}  // namespace larmor::testing
