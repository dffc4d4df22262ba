#include "larmor/base/error.h"

#include <string>

#include <gtest/gtest.h>

#include "larmor/base/printable.h"
#include "larmor/base/text.h"

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

TEST(Error, ShowsForeignWordsEscapedAndBounded) {
  const Error error(Exit::data, "a\nlarmor: all is well\x1b[2J.nii is cut short", std::string(100'000, 'x'));
  EXPECT_EQ(error.message(), "a\\nlarmor: all is well\\u001b[2J.nii is cut short");
  EXPECT_LT(error.hint().size(), 5000U);
}

TEST(Error, KeepsTheLinesOfItsListWhenContextIsAdded) {
  const Error error = Error(Exit::data, text("two files:", item("a\x07"), item("b"))).within("in h\ne");
  EXPECT_EQ(error.message(), "in h\\ne: two files:\n  a\\u0007\n  b");
}

TEST(Require, ThrowsOnlyWhenTheConditionIsFalse) {
  EXPECT_NO_THROW(require(true, Exit::usage, "never"));
  EXPECT_THROW(require(false, Exit::usage, "always"), Error);
}

}  // namespace
}  // namespace larmor
