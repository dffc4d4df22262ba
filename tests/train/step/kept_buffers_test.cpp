#include "larmor/train/step/kept_buffers.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/batchnorm.h>

namespace larmor::testing {
namespace {

TEST(KeptBuffers, PutRunningStatisticsBackAndLeaveWeightsAlone) {
  torch::nn::BatchNorm1d norm(2);
  const KeptBuffers kept({norm.ptr().get()});
  norm->train();
  norm->forward(at::arange(8, at::kFloat).reshape({4, 2}));
  {
    const at::NoGradGuard no_gradients;
    norm->weight.fill_(3);
  }
  ASSERT_NE(norm->running_mean[0].item<float>(), 0);
  kept.restore();
  EXPECT_EQ(norm->running_mean[0].item<float>(), 0);
  EXPECT_EQ(norm->num_batches_tracked.item<int64_t>(), 0);
  EXPECT_EQ(norm->weight[0].item<float>(), 3);
}

}  // namespace
}  // namespace larmor::testing
