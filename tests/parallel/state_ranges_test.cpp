#include "larmor/parallel/state_ranges.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include "larmor/base/error.h"

#include "tests/parallel/support/saved_values.h"

namespace larmor {
namespace {

TEST(Ranges, JoinInAnyOrderAndRefuseGaps) {
  const auto part = [](int64_t first, int64_t end) { return torch::arange(first, end, at::kDouble); };
  const NamedTensors joined =
      join_ranges({{"m/w[4:6]", part(4, 6)}, {"m/w[0:4]", part(0, 4)}, {"step/w", torch::ones({})}});
  EXPECT_TRUE(torch::equal(joined.at("m/w"), part(0, 6)));
  EXPECT_TRUE(joined.contains("step/w"));
  EXPECT_ANY_THROW(join_ranges({{"m/w[0:4]", part(0, 4)}, {"m/w[5:6]", part(5, 6)}}));
  EXPECT_ANY_THROW(join_ranges({{"m/w[0:4]", part(0, 4)}, {"m/w[3:6]", part(3, 6)}}));
  EXPECT_ANY_THROW(join_ranges({{"m/w[0:4]", part(0, 3)}}));
}

TEST(Ranges, StandInTheNameAsInPython) { EXPECT_EQ(ranged_name("m/w", 3, 8), "m/w[3:8]"); }

TEST(Ranges, LeaveNamesAloneThatOnlyLookAlike) {
  for (const std::string name : {"w[3]", "w[a:b]", "w[3:4", "[:]", "w:3]"}) {
    EXPECT_TRUE(join_ranges({{name, torch::ones({2})}}).contains(name)) << name;
  }
}

TEST(FlatState, IsTheSameFromPartsAndFromAWholeTensor) {
  testing::Values saved;
  const at::Tensor like = torch::zeros({2, 3});
  saved.tensor("whole", torch::arange(6).view({2, 3}));
  saved.tensor("flat", torch::arange(6));
  saved.tensor("other", torch::arange(6).view({3, 2}));
  EXPECT_TRUE(torch::equal(flat_state(saved, "whole", like), torch::arange(6)));
  EXPECT_TRUE(torch::equal(flat_state(saved, "flat", like), torch::arange(6)));
  EXPECT_THROW(flat_state(saved, "other", like), Error);
}

}  // namespace
}  // namespace larmor
