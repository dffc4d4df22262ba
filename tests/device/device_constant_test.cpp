#include "larmor/device/device_constant.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace larmor {
namespace {

TEST(DeviceConstant, KeepsOneCopyOfEachType) {
  const DeviceConstant constant(at::arange(3, at::kDouble));
  const at::Tensor narrow = constant.on(c10::kCPU, at::kFloat);
  EXPECT_TRUE(at::equal(narrow, at::arange(3, at::kFloat)));
  EXPECT_TRUE(constant.on(c10::kCPU, at::kFloat).is_same(narrow));
  EXPECT_TRUE(constant.on(c10::kCPU, at::kDouble).is_same(constant.host()));
  const DeviceConstant copy =
      constant;  // NOLINT(performance-unnecessary-copy-initialization): that is what is tested
  EXPECT_TRUE(copy.like(narrow).is_same(narrow));
}

TEST(DeviceConstant, IsMadeOnceWhenItIsAskedFor) {
  int made = 0;
  const DeviceConstant constant([&] {
    ++made;
    return at::arange(3, at::kDouble);
  });
  EXPECT_EQ(made, 0);
  EXPECT_EQ(constant.on(c10::kCPU, at::kFloat).sum().item<float>(), 3);
  EXPECT_EQ(constant.host().sum().item<double>(), 3);
  EXPECT_EQ(made, 1);
}

TEST(DeviceConstant, IsAShapeOnTheMetaDevice) {
  const DeviceConstant constant(at::ones({2, 3}, at::kDouble));
  const at::Tensor shape = constant.like(at::empty({1}, at::TensorOptions(c10::kMeta).dtype(at::kHalf)));
  EXPECT_TRUE(shape.is_meta());
  EXPECT_EQ(shape.sizes(), at::IntArrayRef({2, 3}));
  EXPECT_EQ(shape.scalar_type(), at::kHalf);
}

}  // namespace
}  // namespace larmor
