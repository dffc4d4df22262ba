#include "larmor/launch/open_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"

namespace larmor {
namespace {

using ::testing::HasSubstr;

TEST(OpenFiles, GrowWithTheRanks) {
  EXPECT_LT(open_files_of_rank(1), open_files_of_rank(2));
  EXPECT_GE(open_files_of_rank(8), 53) << "as counted";
  EXPECT_GT(limit_of_open_files(), open_files_of_rank(2));
}

TEST(OpenFiles, RefuseMoreRanksThanTheLimitAllows) {
  const auto enough = open_files_of_rank(300);
  EXPECT_NO_THROW(refuse_too_many_ranks(300, enough));
  try {
    refuse_too_many_ranks(300, enough - 1);
    FAIL() << "not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::environment);
    EXPECT_THAT(error.message(), HasSubstr("each of 300 ranks opens up to 1221 files"));
    EXPECT_THAT(error.hint(), HasSubstr("ulimit -Hn"));
  }
}

}  // namespace
}  // namespace larmor
