#include "larmor/config/foreign/deepspeed_keys.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace larmor {
namespace {

TEST(DeepSpeedKeys, StandThereOnce) {
  std::vector<std::string> keys = deepspeed_keys();
  std::sort(keys.begin(), keys.end());
  const auto twice = std::adjacent_find(keys.begin(), keys.end());
  EXPECT_TRUE(twice == keys.end()) << *twice;
  EXPECT_GT(keys.size(), 100U);
}

TEST(DeepSpeedKeys, HaveAReasonOrAMeaning) {
  ASSERT_NE(find_unused_key("zero_optimization.overlap_comm"), nullptr);
  EXPECT_STREQ(find_unused_key("zero_optimization.overlap_comm")->why,
               "gradients always travel while backward runs");
  EXPECT_TRUE(find_unused_key("activation_checkpointing.cpu_checkpointing")->is_missed);
  EXPECT_EQ(find_unused_key("zero_optimization.stage"), nullptr);
  EXPECT_EQ(find_unused_key("nonsense"), nullptr);
  for (const std::string_view section : deepspeed_sections()) EXPECT_EQ(find_unused_key(section), nullptr);
}

}  // namespace
}  // namespace larmor
