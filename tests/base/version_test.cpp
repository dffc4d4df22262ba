#include "larmor/base/version.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace larmor {
namespace {

TEST(Version, IsThatOfTheProject) {
  EXPECT_THAT(version(), ::testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
}

}  // namespace
}  // namespace larmor
