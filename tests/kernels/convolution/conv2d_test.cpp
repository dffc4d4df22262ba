#include "larmor/kernels/convolution/conv2d.h"

#include <array>

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "larmor/device/memory/poisoned_memory.h"

namespace larmor {
namespace {

using at::Tensor;

struct FlatForm {
  int64_t in, out, height, width, kernel, stride;
};

TEST(Conv2d, IsThatOfLibtorchInTheLayoutOfItsInput) {
  for (const auto& [in, out, height, width, kernel, stride] :
       {FlatForm{1, 16, 20, 24, 7, 2}, {16, 32, 9, 8, 3, 1}, {8, 4, 3, 2, 5, 1}, {4, 8, 6, 6, 1, 1}}) {
    for (const auto order : {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast}) {
      const Tensor input = at::randn({2, in, height, width}, at::kDouble).contiguous(order),
                   weight = at::randn({out, in, kernel, kernel}, at::kDouble),
                   bias = at::randn({out}, at::kDouble);
      const std::array<int64_t, 2> steps{stride, stride}, around{kernel / 2, kernel / 2};
      const Tensor wanted = at::conv2d(input, weight, bias, steps, around);
      EXPECT_TRUE(at::allclose(conv2d(input, weight, bias, steps, around), wanted));
      const Tensor found =
          conv2d(input.to(at::kFloat), weight.to(at::kFloat), bias.to(at::kFloat), steps, around);
      EXPECT_EQ(found.sizes(), wanted.sizes());
      EXPECT_TRUE(at::allclose(found.to(at::kDouble), wanted, 1e-4, 1e-4));
      EXPECT_TRUE(in == 1 || found.is_contiguous(order));
    }
  }
}

/// Rows of the result of one or two numbers: what oneDNN gets wrong in bfloat16 by where it reads.
TEST(Conv2d, RestsOnNoMemoryThatNobodyWrote) {
  for (const int64_t width : {1, 2, 3, 4, 5}) {
    const auto run = [&](at::ScalarType type) {
      const auto leaf = [&](std::vector<int64_t> sizes) {
        const int64_t count = c10::multiply_integers(sizes);
        return at::arange(count).remainder(7).sub(3).reshape(sizes).to(type).requires_grad_();
      };
      const Tensor input = leaf({2, 16, 6, width}), weight = leaf({16, 16, 5, 5}), bias = leaf({16});
      const Tensor output = conv2d(input, weight, bias, {2, 2}, {2, 2});
      auto all = torch::autograd::grad({output}, {input, weight, bias}, {at::ones_like(output)});
      all.push_back(output.detach());
      return all;
    };
    const auto wanted = run(at::kDouble);
    std::vector<Tensor> found;
    {
      const PoisonedMemory poisoned;
      found = run(at::kBFloat16);
      EXPECT_EQ(poisoned.overrun(), 0);
    }
    for (std::size_t i = 0; i < wanted.size(); ++i)
      EXPECT_LE((found[i].to(at::kDouble) - wanted[i]).norm().item<double>(),
                0x1p-6 * wanted[i].norm().item<double>())
          << width << ' ' << i;
  }
}

}  // namespace
}  // namespace larmor
