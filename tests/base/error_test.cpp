#include "larmor/base/error.h"

#include <string>

#include <gtest/gtest.h>

namespace larmor {
namespace {

TEST(Error, CarriesExitMessageAndHintAndShowsBoth) {
  const Error error(Exit::data, "3.nii ends after 7 bytes", "copy it again");
  EXPECT_EQ(error.exit(), Exit::data);
  EXPECT_EQ(error.message(), "3.nii ends after 7 bytes");
  EXPECT_EQ(error.hint(), "copy it again");
  EXPECT_EQ(std::string(error.what()), "3.nii ends after 7 bytes\n  hint: copy it again");
}

TEST(Error, WithoutAHintShowsTheMessageAlone) {
  EXPECT_EQ(std::string(Error(Exit::usage, "no such verb").what()), "no such verb");
}

TEST(Error, KeepsExitAndHintWhenContextIsAdded) {
  const Error error = Error(Exit::numerics, "the loss is not finite", "lower it").within("step 12");
  EXPECT_EQ(error.exit(), Exit::numerics);
  EXPECT_EQ(error.message(), "step 12: the loss is not finite");
  EXPECT_EQ(error.hint(), "lower it");
}

TEST(Require, ThrowsOnlyWhenTheConditionIsFalse) {
  EXPECT_NO_THROW(require(true, Exit::usage, "never"));
  EXPECT_THROW(require(false, Exit::usage, "always"), Error);
}

}  // namespace
}  // namespace larmor
