#include "larmor/checkpoint/state_parts.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"

namespace larmor::testing {
namespace {

TEST(StateParts, GiveBackWhatWasWritten) {
  PartWriter writer;
  writer.tensor("weight", at::ones({2}));
  writer.value("steps", 7);
  const PartReader reader(writer.tensors, writer.values, "here");
  EXPECT_TRUE(reader.tensor("weight").equal(at::ones({2})));
  EXPECT_EQ(reader.value("steps"), 7);
  EXPECT_TRUE(reader.has("steps"));
  EXPECT_FALSE(reader.has("bias"));
}

TEST(StateParts, NameWhatIsMissingAndWhere) {
  const PartReader reader({}, Json::object(), "step-00000004, objective generator");
  try {
    reader.tensor("exp_avg/weight");
    FAIL() << "an absent tensor was read";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::checkpoint);
    EXPECT_NE(error.message().find("exp_avg/weight"), std::string::npos);
    EXPECT_NE(error.message().find("step-00000004"), std::string::npos);
  }
}

}  // namespace
}  // namespace larmor::testing
