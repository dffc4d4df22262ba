#include "larmor/device/send.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace larmor {
namespace {

TEST(Send, LeavesOnTheHostWhatBelongsThere) {
  const at::Tensor numbers = at::arange(4);
  EXPECT_TRUE(send(numbers, at::kCPU).is_same(numbers));
}

TEST(Send, GivesTheShapeOnADeviceThatHoldsNoNumbers) {
  const at::Tensor sent = send(at::ones({2, 3}, at::kDouble), at::kMeta);
  EXPECT_TRUE(sent.is_meta());
  EXPECT_EQ(sent.sizes(), at::IntArrayRef({2, 3}));
  EXPECT_EQ(sent.scalar_type(), at::kDouble);
}

}  // namespace
}  // namespace larmor
