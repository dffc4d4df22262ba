#include "larmor/plan/phrases.h"

#include <gtest/gtest.h>

namespace larmor {
namespace {

TEST(Words, AreSingularAndPlural) {
  EXPECT_EQ(counted(1, "rank"), "1 rank");
  EXPECT_EQ(counted(0, "rank"), "0 ranks");
  EXPECT_EQ(gpu_numbers({6}), "GPU 6");
  EXPECT_EQ(gpu_numbers({6, 7}), "GPUs 6 and 7");
  EXPECT_EQ(gpu_numbers({0, 6, 7}), "GPUs 0, 6 and 7");
}

TEST(Words, ShowCoresAsRangesInOrder) {
  EXPECT_EQ(core_ranges({8, 2, 1, 0}), "0-2,8");
  EXPECT_EQ(core_ranges({5}), "5");
  EXPECT_EQ(core_ranges({}), "");
}

}  // namespace
}  // namespace larmor
