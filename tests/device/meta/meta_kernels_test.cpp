// Each kernel against the CPU's own: what comes out, what its graph keeps, and its gradients.
#include "larmor/device/meta/meta_kernels.h"

#include <functional>
#include <ostream>
#include <thread>

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>

#include "larmor/device/meta/saved_bytes.h"

namespace larmor::testing {
namespace {

using Tensors = std::vector<at::Tensor>;

struct MetaCase {
  std::string name;
  std::vector<std::vector<int64_t>> shapes;  // of inputs that learn
  std::function<Tensors(const Tensors&)> run;
};

void PrintTo(const MetaCase& which, std::ostream* out) { *out << which.name; }

class MetaKernel : public ::testing::TestWithParam<MetaCase> {};

struct Outcome {
  Tensors outputs;
  int64_t saved = 0;
};

Outcome outcome_on(at::Device device, const MetaCase& which) {
  Tensors inputs;
  for (const auto& shape : which.shapes) inputs.push_back(at::rand(shape).to(device).set_requires_grad(true));
  const SavedBytes saved(inputs);
  Outcome outcome;
  outcome.outputs = which.run(inputs);
  outcome.saved = saved.bytes();
  return outcome;
}

TEST_P(MetaKernel, GivesTheShapesOfTheCpuAndKeepsAsManyBytes) {
  register_meta_kernels();
  const Outcome real = outcome_on(at::kCPU, GetParam()), counted = outcome_on(at::kMeta, GetParam());
  ASSERT_EQ(counted.outputs.size(), real.outputs.size());
  for (size_t i = 0; i < real.outputs.size(); ++i) {
    EXPECT_TRUE(counted.outputs[i].is_meta());
    EXPECT_EQ(counted.outputs[i].sizes(), real.outputs[i].sizes());
    EXPECT_EQ(counted.outputs[i].scalar_type(), real.outputs[i].scalar_type());
    EXPECT_EQ(counted.outputs[i].requires_grad(), real.outputs[i].requires_grad());
  }
  EXPECT_EQ(counted.saved, real.saved);
}

Tensors gradients_on(at::Device device, const MetaCase& which) {
  Tensors inputs;
  for (const auto& shape : which.shapes) inputs.push_back(at::rand(shape).to(device).set_requires_grad(true));
  const at::Tensor output = which.run(inputs).front();
  return torch::autograd::grad({output}, inputs, {at::ones_like(output)}, /*retain_graph=*/false,
                               /*create_graph=*/false, /*allow_unused=*/true);
}

TEST_P(MetaKernel, GivesGradientsOfTheShapesOfTheCpu) {
  register_meta_kernels();
  const Tensors real = gradients_on(at::kCPU, GetParam()), counted = gradients_on(at::kMeta, GetParam());
  for (size_t i = 0; i < real.size(); ++i) {
    ASSERT_EQ(counted[i].defined(), real[i].defined()) << i;
    if (!real[i].defined()) continue;
    EXPECT_TRUE(counted[i].is_meta());
    EXPECT_EQ(counted[i].sizes(), real[i].sizes());
    EXPECT_EQ(counted[i].scalar_type(), real[i].scalar_type());
  }
}

at::Tensor buffer_like(const at::Tensor& input, std::vector<int64_t> shape) {
  return at::ones(shape, at::TensorOptions().device(input.device()));
}

std::vector<MetaCase> convolutions() {
  return {
      {"Conv3dOfOddSizes",
       {{2, 3, 7, 6, 5}, {4, 3, 3, 2, 1}, {4}},
       [](const Tensors& in) {
         return Tensors{at::conv3d(in[0], in[1], in[2], /*stride=*/{2, 1, 3}, /*padding=*/{1, 0, 2})};
       }},
      {"Conv3dWithGroupsAndDilation",
       {{1, 4, 9, 8, 7}, {6, 2, 3, 3, 3}},
       [](const Tensors& in) {
         return Tensors{at::conv3d(in[0], in[1], {}, /*stride=*/{1}, /*padding=*/{2}, /*dilation=*/{2}, 2)};
       }},
      {"Conv3dOfASingleImageWithoutBatch",
       {{3, 7, 6, 5}, {4, 3, 3, 3, 3}},
       [](const Tensors& in) { return Tensors{at::conv3d(in[0], in[1])}; }},
      {"Conv2d",
       {{2, 3, 9, 5}, {4, 3, 3, 2}, {4}},
       [](const Tensors& in) { return Tensors{at::conv2d(in[0], in[1], in[2], {2, 1}, {1, 1})}; }},
      {"ConvTranspose3d",
       {{2, 4, 5, 4, 3}, {4, 3, 3, 3, 3}, {6}},
       [](const Tensors& in) {
         return Tensors{at::conv_transpose3d(in[0], in[1], in[2], {2, 2, 2}, {1, 0, 1}, {1, 0, 1}, 2)};
       }},
  };
}

std::vector<MetaCase> norms() {
  return {
      {"GroupNorm",
       {{2, 6, 5, 3, 7}, {6}, {6}},
       [](const Tensors& in) { return Tensors{at::group_norm(in[0], 3, in[1], in[2], 1e-5)}; }},
      {"GroupNormWithoutWeights",
       {{3, 6, 5}},
       [](const Tensors& in) { return Tensors{at::group_norm(in[0], 6)}; }},
      {"LayerNormOverTwoAxes",
       {{3, 5, 4, 7}, {4, 7}, {4, 7}},
       [](const Tensors& in) { return Tensors{at::layer_norm(in[0], {4, 7}, in[1], in[2])}; }},
      {"BatchNormInTraining",
       {{3, 4, 5, 3, 2}, {4}, {4}},
       [](const Tensors& in) {
         return Tensors{at::batch_norm(in[0], in[1], in[2], buffer_like(in[0], {4}), buffer_like(in[0], {4}),
                                       true, 0.1, 1e-5, true)};
       }},
      {"BatchNormInEvaluation",
       {{3, 4, 5, 3, 2}, {4}, {4}},
       [](const Tensors& in) {
         return Tensors{at::batch_norm(in[0], in[1], in[2], buffer_like(in[0], {4}), buffer_like(in[0], {4}),
                                       false, 0.1, 1e-5, true)};
       }},
      {"InstanceNorm",
       {{2, 3, 5, 4}},
       [](const Tensors& in) {
         return Tensors{at::instance_norm(in[0], {}, {}, {}, {}, true, 0.1, 1e-5, true)};
       }},
  };
}

std::vector<MetaCase> activations() {
  return {
      {"Relu", {{3, 5, 7}}, [](const Tensors& in) { return Tensors{at::relu(in[0])}; }},
      {"ReluInPlace", {{3, 5, 7}}, [](const Tensors& in) { return Tensors{(in[0] * 2).relu_()}; }},
      {"Prelu", {{3, 5, 7}, {5}}, [](const Tensors& in) { return Tensors{at::prelu(in[0], in[1])}; }},
      {"LogSigmoid", {{3, 5, 7}}, [](const Tensors& in) { return Tensors{at::log_sigmoid(in[0])}; }},
      {"Abs", {{3, 5, 7}}, [](const Tensors& in) { return Tensors{at::abs(in[0])}; }},
      {"Clamp", {{3, 5}}, [](const Tensors& in) { return Tensors{at::clamp(in[0], 0.2, 0.7)}; }},
      {"LogicOfMasks",
       {{3, 1}, {5}},
       [](const Tensors& in) {
         const at::Tensor one = in[0].detach() > 0.5, other = in[1].detach() > 0.5;
         const auto masks = at::logical_or(at::logical_and(one, other), at::logical_not(other));
         return Tensors{at::where(masks, in[0], in[1])};
       }},
      {"MeanSquareError",
       {{3, 5}, {3, 5}},
       [](const Tensors& in) { return Tensors{at::mse_loss(in[0], in[1])}; }},
      {"AbsOfAScalar", {{}}, [](const Tensors& in) { return Tensors{at::abs(in[0])}; }},
      {"CrossEntropyOfLogits",
       {{3, 5}, {3, 5}},
       [](const Tensors& in) {
         return Tensors{at::binary_cross_entropy_with_logits(in[0], in[1].detach())};
       }},
      {"WhereOverShapesThatBroadcast",
       {{3, 1, 7}, {5, 1}},
       [](const Tensors& in) { return Tensors{at::where(in[0].detach() > 0.5, in[0], in[1])}; }},
      {"WhereOfTwoTypes",
       {{3, 5}},
       [](const Tensors& in) { return Tensors{at::where(in[0] > 0.5, in[0], in[0].to(at::kDouble))}; }},
      {"Flip",
       {{2, 3, 4}},
       [](const Tensors& in) { return Tensors{at::flip(in[0].transpose(0, 2), {0, 1})}; }},
      {"IndexSelect",
       {{4, 5, 6}},
       [](const Tensors& in) {
         const auto index = at::zeros({9}, at::TensorOptions(at::kLong).device(in[0].device()));
         return Tensors{at::index_select(in[0], -2, index)};
       }},
      {"Embedding",
       {{7, 4}},
       [](const Tensors& in) {
         const auto index = at::zeros({2, 3}, at::TensorOptions(at::kLong).device(in[0].device()));
         return Tensors{at::embedding(in[0], index)};
       }},
  };
}

std::vector<MetaCase> resamplings() {
  return {
      {"MaxPool3d",
       {{2, 3, 9, 8, 7}},
       [](const Tensors& in) { return Tensors{at::max_pool3d(in[0], {3}, {2}, {1})}; }},
      {"MaxPool3dRoundedUp",
       {{2, 3, 9, 8, 5}},
       [](const Tensors& in) {
         return Tensors{at::max_pool3d(in[0], {2, 3, 2}, {2, 3, 4}, {1, 0, 1}, {1}, /*ceil_mode=*/true)};
       }},
      {"MaxPool3dWithIndices",
       {{3, 9, 8, 7}},
       [](const Tensors& in) {
         const auto [values, places] = at::max_pool3d_with_indices(in[0], {3}, {}, {0}, {2});
         return Tensors{values, places};
       }},
      {"AdaptiveAvgPool2d",
       {{2, 3, 9, 8}},
       [](const Tensors& in) { return Tensors{at::adaptive_avg_pool2d(in[0], {4, 3})}; }},
      {"AdaptiveAvgPool3d",
       {{2, 3, 9, 8, 7}},
       [](const Tensors& in) { return Tensors{at::adaptive_avg_pool3d(in[0], {4, 3, 2})}; }},
      {"AdaptiveAvgPool3dToOneVoxel",
       {{2, 3, 9, 8, 7}},
       [](const Tensors& in) { return Tensors{at::adaptive_avg_pool3d(in[0], {1, 1, 1})}; }},
      {"GridSampler3d",
       {{2, 3, 5, 4, 3}, {2, 7, 6, 5, 3}},
       [](const Tensors& in) { return Tensors{at::grid_sampler(in[0], in[1], 0, 0, false)}; }},
  };
}

at::Tensor attention(const Tensors& in, const std::optional<at::Tensor>& mask = {}, double dropout = 0) {
  return at::scaled_dot_product_attention(in[0] * 1, in[1] * 1, in[2] * 1, mask, dropout);
}

std::vector<MetaCase> attentions() {
  const std::vector<std::vector<int64_t>> shapes{{2, 3, 7, 4}, {2, 3, 5, 4}, {2, 3, 5, 4}};
  return {
      {"Attention", shapes, [](const Tensors& in) { return Tensors{attention(in)}; }},
      {"AttentionWithBoolMask", shapes,
       [](const Tensors& in) {
         const auto mask = at::ones({7, 5}, at::TensorOptions(at::kBool).device(in[0].device()));
         return Tensors{attention(in, mask)};
       }},
      {"AttentionWithoutHeads",
       {{2, 7, 4}, {2, 5, 4}, {2, 5, 4}},
       [](const Tensors& in) { return Tensors{attention(in)}; }},
      {"AttentionOfOtherValues",
       {{2, 3, 7, 4}, {2, 3, 5, 4}, {2, 3, 5, 6}},
       [](const Tensors& in) { return Tensors{attention(in)}; }},
      {"AttentionWithMaskThatLearns",
       {{2, 3, 7, 4}, {2, 3, 5, 4}, {2, 3, 5, 4}, {7, 5}},
       [](const Tensors& in) { return Tensors{attention(in, in[3] * 1)}; }},
  };
}

std::string name_of(const ::testing::TestParamInfo<MetaCase>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Convolutions, MetaKernel, ::testing::ValuesIn(convolutions()), name_of);
INSTANTIATE_TEST_SUITE_P(Norms, MetaKernel, ::testing::ValuesIn(norms()), name_of);
INSTANTIATE_TEST_SUITE_P(Activations, MetaKernel, ::testing::ValuesIn(activations()), name_of);
INSTANTIATE_TEST_SUITE_P(Resamplings, MetaKernel, ::testing::ValuesIn(resamplings()), name_of);
INSTANTIATE_TEST_SUITE_P(Attentions, MetaKernel, ::testing::ValuesIn(attentions()), name_of);

TEST(RegisterMetaKernels, MayBeAskedForTwiceAndByManyThreads) {
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int i = 0; i < 4; ++i) threads.emplace_back(register_meta_kernels);
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(at::relu(at::empty({3}, at::kMeta)).size(0), 3);
}

TEST(MoveToMeta, LeavesTheSameTensorsWithoutTheirValues) {
  register_meta_kernels();
  torch::nn::Sequential network(torch::nn::Conv3d(2, 4, 3), torch::nn::BatchNorm3d(4));
  network[0]->parameters()[1].set_requires_grad(false);
  const auto before = network->parameters();
  move_to_meta(*network);
  const auto after = network->parameters();
  for (size_t i = 0; i < before.size(); ++i) {
    EXPECT_TRUE(after[i].is_same(before[i]));
    EXPECT_TRUE(after[i].is_meta());
    EXPECT_EQ(after[i].requires_grad(), i != 1);
  }
  for (const auto& buffer : network->buffers()) EXPECT_TRUE(buffer.is_meta());
  const auto output = network->forward(at::empty({2, 2, 5, 6, 7}, at::kMeta));
  EXPECT_EQ(output.sizes(), (std::vector<int64_t>{2, 4, 3, 4, 5}));
  EXPECT_TRUE(output.requires_grad());
}

}  // namespace
}  // namespace larmor::testing
