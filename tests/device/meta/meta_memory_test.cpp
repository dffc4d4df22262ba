#include "larmor/device/meta/meta_memory.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace larmor::testing {
namespace {

at::Tensor floats(int64_t count) {
  return at::empty({count}, at::TensorOptions(at::kMeta).dtype(at::kFloat));
}

TEST(MetaMemory, IsTheMostThatWasHeldAtATime) {
  const MetaMemoryScope memory;
  const auto kept = floats(100);
  EXPECT_EQ(memory.peak(), 400);
  floats(500);
  floats(300);
  EXPECT_EQ(memory.peak(), 2400) << "one went before the next came";
  const auto view = kept.narrow(0, 1, 7), sum = kept + kept;
  EXPECT_EQ(memory.peak(), 2400);
}

TEST(MetaMemory, CountsWhatOperatorsMakeOnTheirWay) {
  const auto input = floats(1000);
  const MetaMemoryScope memory;
  const auto output = (input + input) * 2;
  EXPECT_EQ(memory.peak(), 8000) << "the sum lives until the product is there; the input was there before";
}

TEST(MetaMemory, OfOneScopeIsNotThatOfTheNext) {
  at::Tensor left;
  {
    const MetaMemoryScope memory;
    left = floats(1000);
    EXPECT_EQ(memory.peak(), 4000);
  }
  const MetaMemoryScope memory;
  left = at::Tensor();
  const auto small = floats(1);
  EXPECT_EQ(memory.peak(), 4);
}

}  // namespace
}  // namespace larmor::testing
