#include "larmor/kernels/convolution/winograd_conv.h"

#include <array>
#include <limits>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "larmor/device/autocast.h"
#include "larmor/device/layout.h"
#include "larmor/device/meta/saved_bytes.h"
#include "larmor/kernels/convolution/conv3d.h"
#include "larmor/kernels/draw/draw.h"
#include "larmor/kernels/vector_cpu.h"

#include "tests/kernels/support/outputs_and_gradients.h"

namespace larmor::testing {
namespace {

using at::Tensor;

struct WinogradSize {
  int64_t samples;
  std::array<int64_t, 3> image;
  int64_t in, out;
};
// Images of even and odd lengths, flat ones, one that is a row; blocks that are full and that are not; one
// part and several; as many channels as a vector has lanes, and more.
const WinogradSize winograd_sizes[] = {
    {1, {4, 4, 4}, 16, 16},    {2, {4, 4, 4}, 32, 16},   {1, {5, 7, 9}, 16, 48},  {3, {1, 6, 8}, 16, 16},
    {2, {7, 1, 5}, 48, 16},    {1, {1, 1, 17}, 16, 32},  {2, {16, 1, 1}, 16, 16}, {1, {6, 8, 8}, 64, 80},
    {2, {15, 16, 13}, 32, 32}, {1, {24, 24, 24}, 16, 16}};

struct WinogradLeaves {
  Tensor volumes, kernel, bias;
};

/// [N, C, D, H, W] drawn with channels last.
Tensor drawn_volumes(const char* name, at::IntArrayRef sizes) {
  return draw_normal(3, name, sizes).contiguous(at::MemoryFormat::ChannelsLast3d);
}

WinogradLeaves leaves_of_conv(const WinogradSize& of, at::ScalarType type = at::kFloat) {
  const Tensor volumes = drawn_volumes("volumes", {of.samples, of.in, of.image[0], of.image[1], of.image[2]});
  const Tensor kernel = drawn_volumes("kernel", {of.out, of.in, 3, 3, 3}) * 0.1;
  return {volumes.to(type).requires_grad_(), kernel.to(type).requires_grad_(),
          draw_normal(3, "bias", {of.out}).to(type).requires_grad_()};
}

Tensor conv_by_libtorch(const WinogradLeaves& of) { return at::conv3d(of.volumes, of.kernel, of.bias, 1, 1); }
Tensor conv_by_winograd(const WinogradLeaves& of) { return winograd_conv(of.volumes, of.kernel, of.bias); }

/// The output, and the gradients of volumes, kernel and bias.
template <class Run>
std::vector<Tensor> conv_and_gradients(const Run& run, const WinogradLeaves& of) {
  for (const Tensor& leaf : {of.volumes, of.kernel, of.bias}) leaf.mutable_grad() = Tensor();
  const Tensor output = run(of);
  output.backward(drawn_volumes("gradient", output.sizes()).to(output.scalar_type()));
  return {output.detach(), of.volumes.grad(), of.kernel.grad(), of.bias.grad()};
}

Conv3dForm form_of(const Tensor& input, const Tensor& weight,
                   const std::array<int64_t, 3>& stride = {1, 1, 1},
                   const std::array<int64_t, 3>& padding = {1, 1, 1}, Precision precision = Precision::fp32,
                   Layout of_layout = Layout::channels_last) {
  const AutocastScope autocast(at::kCPU, precision);
  const LayoutScope layout(of_layout);
  return conv3d_form(input, weight, stride, padding);
}

class WinogradConv : public ::testing::Test {
 protected:
  void SetUp() override {
    if (vector_cpu() == VectorCpu::other) GTEST_SKIP() << "needs AVX2 or AVX-512";
  }
};

TEST_F(WinogradConv, HasTheValuesAndGradientsOfDouble) {
  for (const WinogradSize& of : winograd_sizes) {
    const auto exact = conv_and_gradients(conv_by_libtorch, leaves_of_conv(of, at::kDouble));
    EXPECT_LT(most_apart(conv_and_gradients(conv_by_winograd, leaves_of_conv(of)), exact), 2e-6)
        << at::IntArrayRef(of.image) << ", " << of.in << " to " << of.out;
  }
}

TEST_F(WinogradConv, IsNoLessExactThanOneDnn) {
  const WinogradSize of{2, {16, 16, 16}, 32, 32};
  const auto exact = conv_and_gradients(conv_by_libtorch, leaves_of_conv(of, at::kDouble)),
             ours = conv_and_gradients(conv_by_winograd, leaves_of_conv(of)),
             theirs = conv_and_gradients(conv_by_libtorch, leaves_of_conv(of));
  for (size_t i = 0; i < exact.size(); ++i)
    EXPECT_LT(most_apart({ours[i]}, {exact[i]}), 1.5 * most_apart({theirs[i]}, {exact[i]}) + 2e-7) << i;
}

TEST_F(WinogradConv, IsWhatConv3dTakesForVolumesWithChannelsLast) {
  const WinogradLeaves leaves = leaves_of_conv({2, {8, 9, 10}, 16, 32});
  const auto conv = [](const WinogradLeaves& of) {
    const LayoutScope layout(Layout::channels_last);
    return conv3d(of.volumes, of.kernel, of.bias, {1, 1, 1}, {1, 1, 1});
  };
  EXPECT_TRUE(form_of(leaves.volumes, leaves.kernel).path == ConvPath::winograd);
  const auto taken = conv_and_gradients(conv, leaves);
  EXPECT_TRUE(have_equal_bits(taken, conv_and_gradients(conv_by_winograd, leaves)));
  EXPECT_TRUE(taken[0].is_contiguous(at::MemoryFormat::ChannelsLast3d));
  EXPECT_TRUE(taken[1].is_contiguous(at::MemoryFormat::ChannelsLast3d));
}

TEST_F(WinogradConv, LeavesWhatItIsNotForToOthers) {
  const auto volumes = [](int64_t channels, int64_t edge) {
    return at::zeros({2, channels, edge, edge, edge});
  };
  const auto kernel = [](int64_t out, int64_t in, int64_t edge) {
    return at::zeros({out, in, edge, edge, edge});
  };
  const Tensor usual = volumes(16, 8), of_usual = kernel(16, 16, 3);
  ASSERT_TRUE(form_of(usual, of_usual).path == ConvPath::winograd);
  EXPECT_FALSE(form_of(usual.to(at::kDouble), of_usual.to(at::kDouble)).path == ConvPath::winograd);
  EXPECT_FALSE(form_of(usual, of_usual, {1, 1, 1}, {1, 1, 1}, Precision::bf16).path == ConvPath::winograd);
  EXPECT_FALSE(form_of(usual, of_usual, {1, 1, 1}, {1, 1, 1}, Precision::fp32, Layout::contiguous).path ==
               ConvPath::winograd);
  EXPECT_FALSE(form_of(usual, of_usual, {2, 2, 2}).path == ConvPath::winograd);
  EXPECT_FALSE(form_of(usual, of_usual, {1, 1, 1}, {0, 0, 0}).path == ConvPath::winograd);
  EXPECT_FALSE(form_of(usual, kernel(16, 16, 1), {1, 1, 1}, {0, 0, 0}).path == ConvPath::winograd);
  EXPECT_FALSE(form_of(usual, kernel(16, 16, 5), {1, 1, 1}, {2, 2, 2}).path == ConvPath::winograd);
  EXPECT_FALSE(form_of(volumes(24, 8), kernel(16, 24, 3)).path == ConvPath::winograd);
  EXPECT_FALSE(form_of(usual, kernel(4, 16, 3)).path == ConvPath::winograd);
  EXPECT_FALSE(form_of(volumes(16, 2), of_usual).path == ConvPath::winograd);
  // The larger a kernel, the more tiles its points are worth.
  EXPECT_TRUE(form_of(volumes(64, 4), kernel(64, 64, 3)).path == ConvPath::winograd);
  EXPECT_FALSE(form_of(volumes(128, 4), kernel(128, 128, 3)).path == ConvPath::winograd);
  EXPECT_FALSE(form_of(usual.to(at::kMeta), of_usual.to(at::kMeta)).path == ConvPath::winograd);
}

TEST_F(WinogradConv, HasTheSameBitsOnAnyNumberOfThreads) {
  const WinogradLeaves leaves = leaves_of_conv({2, {15, 16, 13}, 32, 48});
  const int before = at::get_num_threads();
  at::set_num_threads(1);
  const auto on_one = conv_and_gradients(conv_by_winograd, leaves);
  for (const int threads : {2, 3, 7}) {
    at::set_num_threads(threads);
    EXPECT_TRUE(have_equal_bits(conv_and_gradients(conv_by_winograd, leaves), on_one))
        << threads << " threads";
  }
  at::set_num_threads(before);
}

TEST_F(WinogradConv, HasTheSameBitsForASampleAloneAndBesideOthers) {
  const WinogradLeaves all = leaves_of_conv({3, {5, 7, 9}, 16, 48});
  const Tensor together = conv_by_winograd(all);
  for (int64_t sample = 0; sample < 3; ++sample)
    EXPECT_TRUE(at::equal(winograd_conv(all.volumes.narrow(0, sample, 1), all.kernel, all.bias),
                          together.narrow(0, sample, 1)));
}

TEST_F(WinogradConv, ComputesTheGradientsThatAreWantedAlone) {
  const WinogradLeaves leaves = leaves_of_conv({2, {6, 5, 4}, 16, 32});
  const auto all = conv_and_gradients(conv_by_winograd, leaves);
  const Tensor gradient = drawn_volumes("gradient", all[0].sizes());
  for (const std::array<bool, 3> wanted :
       {std::array<bool, 3>{true, false, false}, {false, true, false}, {true, false, true}}) {
    const auto [of_volumes, of_kernel, of_bias] =
        winograd_conv_gradients(gradient, leaves.volumes.detach(), leaves.kernel.detach(), wanted);
    EXPECT_EQ(of_volumes.defined(), wanted[0]);
    EXPECT_EQ(of_kernel.defined(), wanted[1]);
    EXPECT_EQ(of_bias.defined(), wanted[2]);
    EXPECT_TRUE(!wanted[0] || at::equal(of_volumes, all[1]));
    EXPECT_TRUE(!wanted[1] || at::equal(of_kernel, all[2]));
    EXPECT_TRUE(!wanted[2] || most_apart({of_bias}, {all[3].to(at::kDouble)}) < 1e-6);
  }
  EXPECT_TRUE(at::equal(winograd_conv(leaves.volumes, leaves.kernel, at::zeros({32})),
                        winograd_conv(leaves.volumes, leaves.kernel, Tensor())));
}

/// The gradient of a norm of the gradients.
template <class Run>
std::vector<Tensor> norm_derivatives_of_conv(const Run& run, const WinogradLeaves& of) {
  const std::vector<Tensor> leaves{of.volumes, of.kernel, of.bias};
  const auto first = torch::autograd::grad({run(of).pow(2).mean()}, leaves, {}, /*retain_graph=*/true,
                                           /*create_graph=*/true);
  return torch::autograd::grad({first[0].square().sum() + first[1].square().sum() + first[2].square().sum()},
                               leaves);
}

TEST_F(WinogradConv, HasSecondDerivatives) {
  const WinogradSize of{2, {6, 6, 6}, 16, 16};
  const auto ours = norm_derivatives_of_conv(conv_by_winograd, leaves_of_conv(of)),
             exact = norm_derivatives_of_conv(conv_by_libtorch, leaves_of_conv(of, at::kDouble));
  EXPECT_LT(most_apart(ours, exact), 1e-5);
}

TEST_F(WinogradConv, ReadsVolumesAndKernelsAtAnyAddress) {
  const WinogradLeaves leaves = leaves_of_conv({2, {6, 5, 4}, 16, 32});
  const auto moved = [](const Tensor& tensor) {
    const Tensor room = at::empty({tensor.numel() + 1});
    const Tensor copy = room.as_strided(tensor.sizes(), tensor.strides(), 1);
    return copy.copy_(tensor.detach());
  };
  EXPECT_TRUE(at::equal(winograd_conv(moved(leaves.volumes), moved(leaves.kernel), moved(leaves.bias)),
                        conv_by_winograd(leaves)));
}

TEST_F(WinogradConv, KeepsVolumesAndKernelForBackwardAndNothingElse) {
  const WinogradLeaves leaves = leaves_of_conv({1, {8, 8, 8}, 16, 16});
  const SavedBytes saved;
  const Tensor output = conv_by_winograd(leaves);
  EXPECT_LE(saved.bytes(), static_cast<int64_t>(leaves.volumes.nbytes() + leaves.kernel.nbytes()));
}

TEST_F(WinogradConv, HidesNoNumberThatIsInfiniteOrNone) {
  for (const float odd : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    WinogradLeaves leaves = leaves_of_conv({1, {7, 7, 7}, 16, 16});
    const at::NoGradGuard no_grad;
    leaves.volumes[0][5][3][3][3] = odd;
    const Tensor around = conv_by_winograd(leaves).narrow(2, 2, 3).narrow(3, 2, 3).narrow(4, 2, 3);
    EXPECT_FALSE(around.isfinite().any().item<bool>()) << odd;
  }
}

}  // namespace
}  // namespace larmor::testing
