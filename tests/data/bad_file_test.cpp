#include "larmor/data/bad_file.h"

#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/printable.h"

namespace larmor {
namespace {

TEST(BadFile, MayBeSoManyOrAThousandthOfTheCases) {
  EXPECT_EQ(bad_file_budget(10, 500), 10);
  EXPECT_EQ(bad_file_budget(0, 999), 0);
  EXPECT_EQ(bad_file_budget(10, 25000), 25);
}

TEST(BadFile, KeepsTheHashOfItsContentsWhereThatIsKnown) {
  EXPECT_EQ(to_json(std::vector<BadFile>{{"a.nii", "cut short", "ab12"}}).dump(),
            R"([{"path":"a.nii","reason":"cut short","sha256":"ab12"}])");
}

TEST(BadFile, BecomesJson) {
  EXPECT_EQ(to_json({BadFile{"a.nii", "cut short"}}).dump(), R"([{"path":"a.nii","reason":"cut short"}])");
  EXPECT_EQ(to_json(std::vector<BadFile>{}).dump(), "[]");
}

TEST(BadFile, IsListedALineEachAndThenCounted) {
  const std::vector<BadFile> files = {{"a", "1"}, {"b", "2"}, {"c", "3"}};
  EXPECT_EQ(bounded(listing(files, 3)), "\n  a: 1\n  b: 2\n  c: 3");
  EXPECT_EQ(bounded(listing(files, 1)), "\n  a: 1\n  and 2 more");
}

TEST(BadFile, KeepsTheReasonWithoutThePath) {
  EXPECT_EQ(reason_behind("a/b.nii", "/data/a/b.nii: cut short"), "cut short");
  EXPECT_EQ(reason_behind("a/b.nii", "disk on fire"), "disk on fire");
  EXPECT_EQ(reason_behind("", ": x"), ": x");
  EXPECT_EQ(reason_behind("a\n.nii", Error(Exit::data, "/data/a\n.nii: cut short").message()), "cut short");
}

}  // namespace
}  // namespace larmor
