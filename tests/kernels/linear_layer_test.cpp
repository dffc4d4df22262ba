#include "larmor/kernels/linear_layer.h"

#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "larmor/device/autocast.h"
#include "larmor/device/cpu_ability.h"
#include "larmor/device/device.h"
#include "larmor/device/meta/saved_bytes.h"
#include "larmor/kernels/draw/draw.h"

#include "tests/kernels/support/expect_twin.h"
#include "tests/kernels/support/outputs_and_gradients.h"

namespace larmor::testing {
namespace {

using at::Tensor;
using Sizes = std::vector<int64_t>;

/// Of a layer: how many rows it is given, from how many numbers to how many.
struct LayerSize {
  int64_t rows, in, out;
};
// Wide and narrow, tall and short, none a multiple of a vector; deep sums are cut into pieces.
const LayerSize layer_sizes[] = {{3136, 40, 160}, {3136, 160, 40}, {1027, 77, 301},
                                 {196, 320, 640}, {24, 512, 256},  {600, 33, 70},
                                 {513, 1000, 9},  {5003, 96, 32},  {2049, 64, 64}};

/// Restores the number of threads.
class Threads {
 public:
  explicit Threads(int count) : before_(at::get_num_threads()) { at::set_num_threads(count); }
  ~Threads() { at::set_num_threads(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

using Layer = Tensor(const Tensor&, const Tensor&, const Tensor&);

Tensor libtorch_linear(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  return at::linear(input, weight, bias);
}

/// The output, and the gradients of input, weight and bias.
std::vector<Tensor> learn(Layer* layer, const LayerSize& size, at::ScalarType type = at::kFloat) {
  const auto drawn = [&](const char* name, const Sizes& sizes) {
    return draw_normal(5, name, sizes).to(type).requires_grad_();
  };
  const Tensor input = drawn("input", {size.rows, size.in}), weight = drawn("weight", {size.out, size.in}),
               bias = drawn("bias", {size.out});
  const Tensor output = layer(input, weight, bias);
  output.backward(draw_normal(5, "gradient", output.sizes()).to(type));
  return {output.detach(), input.grad(), weight.grad(), bias.grad()};
}

TEST(LinearLayer, IsALinearLayerWithItsGradients) {
  for (const LayerSize& size : layer_sizes) {
    const auto exact = learn(libtorch_linear, size, at::kDouble);
    EXPECT_LT(most_apart(learn(linear_layer, size), exact), 1e-6)
        << size.rows << " " << size.in << " " << size.out;
    EXPECT_TRUE(have_equal_bits(learn(linear_layer, size, at::kDouble), exact));
  }
}

TEST(LinearLayer, IsItsTwinInEveryTypeAndLayout) {
  const Tensor weight = draw_normal(6, "weight", {257, 80}).to(at::kDouble),
               bias = draw_normal(6, "bias", {257}).to(at::kDouble);
  const auto by = [](Layer* layer) {
    return [layer](const Tensor& input, const std::vector<Tensor>& others) {
      return layer(input, others[0].to(input.scalar_type()), others[1].to(input.scalar_type()));
    };
  };
  expect_twin(
      by(linear_layer), by(libtorch_linear),
      {.sizes = {2, 3, 5, 20, 80}, .others = {weight, bias}, .is_differentiable = false, .tolerance = 1e-6});
}

TEST(LinearLayer, TakesViewsAndLayersWithoutABias) {
  const Tensor whole = draw_normal(7, "input", {64, 300, 7}), all = draw_normal(7, "weight", {300, 256});
  const Tensor input = whole.transpose(1, 2), weight = all.t();  // neither lies as it is read
  EXPECT_TRUE(linear_layer(input, weight, {}).allclose(at::linear(input, weight), 1e-5, 1e-4));
  const Tensor learns = weight.detach().requires_grad_();
  linear_layer(input, learns, {}).sum().backward();
  EXPECT_TRUE(learns.grad().allclose(input.sum(Sizes{0, 1}).expand({256, 300}), 1e-4, 1e-3));
}

TEST(LinearLayer, GivesTheSameBitsOnAnyNumberOfThreadsAndWhereverTheRowsLie) {
  for (const LayerSize& size : layer_sizes) {
    std::vector<Tensor> alone;
    {
      const Threads one(1);
      alone = learn(linear_layer, size);
    }
    for (const int count : {2, 3, 4, 8}) {
      const Threads several(count);
      EXPECT_TRUE(have_equal_bits(learn(linear_layer, size), alone))
          << count << " threads, " << size.rows << " rows, " << size.in << " to " << size.out;
    }
  }
  const Tensor weight = draw_normal(8, "weight", {320, 80}), input = draw_normal(8, "input", {784, 80});
  const Tensor shifted = at::empty({784 * 80 + 1}).narrow(0, 1, 784 * 80).view({784, 80}).copy_(input);
  EXPECT_TRUE(linear_layer(input, weight, {}).equal(linear_layer(shifted, weight, {})));
}

TEST(LinearLayer, GivesTheSameBitsWhereThreadsSharePieces) {
  const LayerSize sizes[] = {{5003, 96, 32}, {2049, 64, 64}, {16384, 32, 40}};
  for (const LayerSize& size : sizes)
    EXPECT_LT(most_apart(learn(linear_layer, size), learn(libtorch_linear, size, at::kDouble)), 1e-6);
#ifdef __clang__
  GTEST_SKIP() << "builds by clang++ have no OpenMP: a piece is oneDNN's, which cuts it for eight threads";
#endif
  for (const LayerSize& size : sizes) {
    const auto of_weight = [&](int threads) {
      const Threads several(threads);
      return learn(linear_layer, size)[2];
    };
    const Tensor alone = of_weight(1);
    for (const int count : {2, 3, 4, 8}) EXPECT_TRUE(of_weight(count).equal(alone)) << count << " threads";
  }
}

TEST(LinearLayer, LeavesOthersToLibtorch) {
  const Tensor input = at::ones({784, 80}), weight = at::ones({320, 80});
  EXPECT_EQ(is_layer_by_one_dnn(input, weight),
            cpu_capability() == "AVX512" && one_dnn_computes(at::kBFloat16));
  EXPECT_FALSE(is_layer_by_one_dnn(input.to(at::kDouble), weight.to(at::kDouble)));
  EXPECT_FALSE(is_layer_by_one_dnn(input, weight.to(at::kBFloat16)));
  EXPECT_FALSE(is_layer_by_one_dnn(input.to(at::kMeta), weight.to(at::kMeta)));
  EXPECT_FALSE(is_layer_by_one_dnn(input.narrow(0, 0, 8), weight));
  const AutocastScope autocast(at::kCPU, Precision::bf16);
  EXPECT_FALSE(is_layer_by_one_dnn(input, weight));
  EXPECT_EQ(linear_layer(input, weight, {}).scalar_type(), at::kBFloat16);
}

TEST(LinearLayer, KeepsWhatLibtorchKeeps) {
  const Tensor input = draw_normal(9, "input", {784, 80}).requires_grad_(),
               weight = draw_normal(9, "weight", {320, 80}).requires_grad_();
  const auto kept = [&](Layer* layer) {
    const SavedBytes saved;
    const Tensor output = layer(input, weight, {});
    return saved.bytes();
  };
  EXPECT_EQ(kept(linear_layer), kept(libtorch_linear));
}

TEST(LinearLayer, HasASecondDerivative) {
  const Tensor input = draw_normal(4, "input", {784, 80}).requires_grad_(),
               weight = draw_normal(4, "weight", {320, 80}).requires_grad_();
  const auto second = [&](Layer* layer) {
    const Tensor value = layer(input, weight, {}).square().sum();
    const auto first = torch::autograd::grad({value}, {input}, {}, true, /*create_graph=*/true);
    return torch::autograd::grad({first[0].square().sum()}, {weight})[0];
  };
  EXPECT_TRUE(second(linear_layer).allclose(second(libtorch_linear), 1e-3, 1));
}

}  // namespace
}  // namespace larmor::testing
