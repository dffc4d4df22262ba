#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/kernels/convolution/winograd_cpu.h"
#include "larmor/kernels/draw/draw.h"
#include "larmor/kernels/vector_cpu.h"

namespace larmor::testing {
namespace {

using at::Tensor;
using WinogradShape = winograd::Shape;

Tensor numbers_for(const char* name, int64_t voxels, int64_t channels) {
  return draw_normal(4, name, {voxels, channels});
}

/// What the loops write: results, and gradients of the kernel and of the bias.
std::vector<Tensor> written_by(const winograd::Loops& loops, const WinogradShape& shape) {
  using namespace winograd;
  const int64_t voxels = shape.samples * shape.depth * shape.height * shape.width;
  const Tensor volumes = numbers_for("volumes", voxels, shape.in),
               kernel = numbers_for("kernel", shape.out * kernel_voxels, shape.in),
               bias = numbers_for("bias", 1, shape.out),
               gradient = numbers_for("gradient", voxels, shape.out);
  const Tensor of_kernel = at::zeros({points, kernel_step(shape)}), turned = at::zeros_like(of_kernel);
  loops.kernel_points(kernel.const_data_ptr<float>(), shape, 0, shape.out / channel_step,
                      of_kernel.mutable_data_ptr<float>());
  loops.turned_kernel_points(kernel.const_data_ptr<float>(), shape, 0, shape.out,
                             turned.mutable_data_ptr<float>());
  const Tensor results = at::empty({voxels, shape.out}), memory = at::empty({workspace(shape)});
  auto* const room = memory.mutable_data_ptr<float>();  // libtorch's lies at a multiple of 64 bytes
  loops.convolve({.shape = shape,
                  .volumes = volumes.const_data_ptr<float>(),
                  .kernel = of_kernel.const_data_ptr<float>(),
                  .bias = bias.const_data_ptr<float>(),
                  .results = results.mutable_data_ptr<float>()},
                 0, shape.blocks(), room);
  const int64_t parts = parts_of(shape);
  const Tensor sums = at::zeros({parts, points, kernel_step(shape)}),
               bias_sums = at::empty({parts, shape.out}), of_weight = at::empty_like(kernel);
  const KernelGradient with{.shape = shape,
                            .volumes = volumes.const_data_ptr<float>(),
                            .gradient = gradient.const_data_ptr<float>(),
                            .parts = parts,
                            .sums = sums.mutable_data_ptr<float>(),
                            .bias_sums = bias_sums.mutable_data_ptr<float>()};
  loops.add_products(with, 0, parts, room);
  loops.kernel_gradient(with, 0, shape.out / channel_step, of_weight.mutable_data_ptr<float>());
  return {of_kernel, turned, results, of_weight, bias_sums};
}

TEST(WinogradLoops, HaveTheSameBitsByAvx512AndByAvx2) {
  if (vector_cpu() != VectorCpu::avx512) GTEST_SKIP() << "needs AVX-512";
  for (const WinogradShape& shape :
       {WinogradShape{2, 5, 7, 9, 16, 48}, {1, 16, 16, 16, 64, 16}, {1, 1, 1, 9, 80, 32}}) {
    const auto wide = written_by(winograd::loops_by_avx512(), shape),
               narrow = written_by(winograd::loops_by_avx2(), shape);
    for (std::size_t i = 0; i < wide.size(); ++i)
      EXPECT_TRUE(wide[i].equal(narrow[i])) << i << ", " << shape.in << " to " << shape.out;
  }
}

TEST(WinogradLoops, TakeAsManyPartsAsTheirSumsHaveRoomFor) {
  const auto parts = [](int64_t edge, int64_t channels) {
    return winograd::parts_of({1, edge, edge, edge, channels, channels});
  };
  EXPECT_EQ(parts(4, 16), 1);  // a part has eight blocks at least
  EXPECT_EQ(parts(16, 16), 2);
  EXPECT_EQ(parts(48, 16), 16);
  EXPECT_EQ(parts(48, 64), 8);
  EXPECT_EQ(parts(48, 512), 1);
}

}  // namespace
}  // namespace larmor::testing
