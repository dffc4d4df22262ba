#include "larmor/parallel/state_ranges.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

#include "tests/parallel/support/saved_values.h"

namespace larmor {
namespace {

RangedState state_of(const NamedTensors& tensors) { return {stored(tensors), {{"steps", 3}}, "a test"}; }

at::Tensor part(int64_t first, int64_t end) { return torch::arange(first, end, at::kDouble); }

TEST(Ranges, JoinInAnyOrderAndRefuseGaps) {
  const RangedState state =
      state_of({{"m/w[4:6]", part(4, 6)}, {"m/w[0:4]", part(0, 4)}, {"step/w", torch::ones({})}});
  EXPECT_TRUE(torch::equal(state.tensor("m/w"), part(0, 6)));
  EXPECT_EQ(state.tensor("step/w").dim(), 0);
  EXPECT_EQ(state.value("steps"), 3);
  EXPECT_ANY_THROW(state.tensor("m/v"));
  EXPECT_ANY_THROW(state_of({{"m/w[0:4]", part(0, 4)}, {"m/w[5:6]", part(5, 6)}}));
  EXPECT_ANY_THROW(state_of({{"m/w[0:4]", part(0, 4)}, {"m/w[3:6]", part(3, 6)}}));
  EXPECT_ANY_THROW(state_of({{"m/w[0:4]", part(0, 3)}}));
}

TEST(Ranges, AreReadOnlyAsFarAsTheyAreAskedFor) {
  std::vector<std::string> reads;
  StoredTensors tensors = stored({{"w[0:4]", part(0, 4)}, {"w[4:6]", part(4, 6)}, {"w[6:9]", part(6, 9)}});
  for (auto& [name, tensor] : tensors) {
    tensor.read = [&reads, name = name, read = tensor.read](int64_t first, int64_t count) {
      reads.push_back(text(name, " ", first, " ", count));
      return read(first, count);
    };
  }
  const RangedState state(std::move(tensors), {}, "a test");
  EXPECT_EQ(state.shape("w"), std::vector<int64_t>{9});
  EXPECT_TRUE(reads.empty());
  EXPECT_TRUE(torch::equal(state.range("w", 3, 3), part(3, 6)));
  EXPECT_EQ(reads, (std::vector<std::string>{"w[0:4] 3 1", "w[4:6] 0 2"}));
}

TEST(Ranges, StandInTheNameAsInPython) { EXPECT_EQ(ranged_name("m/w", 3, 8), "m/w[3:8]"); }

TEST(Ranges, LeaveNamesAloneThatOnlyLookAlike) {
  for (const std::string name : {"w[3]", "w[a:b]", "w[3:4", "[:]", "w:3]"}) {
    EXPECT_TRUE(state_of({{name, torch::ones({2})}}).has(name)) << name;
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
