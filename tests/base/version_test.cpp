#include "larmor/base/version.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"

namespace larmor {
namespace {

TEST(Version, IsThatOfTheProject) {
  EXPECT_THAT(version(), ::testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
}

TEST(ProgramName, HasTheCommitOnceSomebodyHasSaidIt) {
  EXPECT_EQ(program_name(), text("larmor ", version()));
  set_commit("0123456789ab+changes");
  EXPECT_EQ(program_name(), text("larmor ", version(), " commit 0123456789ab+changes"));
  set_commit("");
}

}  // namespace
}  // namespace larmor
