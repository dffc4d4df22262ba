// On a CPU; tests/gpu_emulation/batch_order_test.cpp has what a GPU adds.
#include "larmor/judge/batch_feed.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace larmor::testing {
namespace {

Batch batch_of(float value) {
  Batch batch;
  batch.tensors["image"] = at::full({2, 3}, value);
  batch.tensors["label"] = at::ones({2}, at::kLong);
  batch.keys.resize(2);
  return batch;
}

TEST(BatchFeed, OnACpuNothingIsCopied) {
  BatchFeed feed(c10::kCPU, Precision::fp32);
  const Batch batch = batch_of(1);
  feed.copy_ahead(batch);
  EXPECT_TRUE(feed.take(batch).at("image").is_same(batch.at("image")));
  feed.clear();
  EXPECT_TRUE(feed.take(batch).at("label").is_same(batch.at("label")));
}

TEST(BatchFeed, OnACpuImagesAreDoublesWhereThePrecisionSaysSo) {
  BatchFeed feed(c10::kCPU, Precision::fp64);
  const Batch batch = feed.take(batch_of(1));
  EXPECT_EQ(batch.at("image").scalar_type(), at::kDouble);
  EXPECT_EQ(batch.at("label").scalar_type(), at::kLong);
  EXPECT_EQ(batch.size(), 2);
}

}  // namespace
}  // namespace larmor::testing
