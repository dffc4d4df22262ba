#include "larmor/base/files/temporary_name.h"

#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace larmor {
namespace {

using ::testing::MatchesRegex;

TEST(TemporaryName, LiesBesideThePathAndNobodyCanGuessIt) {
  std::set<std::string> names;
  for (int i = 0; i < 100; ++i) {
    const auto path = temporary_beside("/runs/a b/config.yaml");
    EXPECT_EQ(path.parent_path(), "/runs/a b");
    EXPECT_THAT(path.filename().string(), MatchesRegex("\\.config\\.yaml\\.partial-[0-9a-f]{16}"));
    names.insert(path.filename().string());
  }
  EXPECT_EQ(names.size(), 100U);
  EXPECT_EQ(temporary_beside("bare").parent_path(), ".");
}

TEST(TemporaryName, IsNoLongerThanANameMayBe) {
  constexpr size_t longest = 255;
  EXPECT_EQ(temporary_beside(std::string(longest, 'n')).filename().string().size(), longest);
  std::string umlauts;
  while (umlauts.size() + 2 <= longest) umlauts += "ä";
  const auto name = temporary_beside(umlauts).filename().string();
  EXPECT_LE(name.size(), longest);
  EXPECT_THAT(name, MatchesRegex("\\.(ä)+\\.partial-[0-9a-f]{16}")) << "no half of a character";
}

TEST(TemporaryName, IsKnownAgainAndNothingElseIsTakenForOne) {
  EXPECT_TRUE(is_temporary_name(temporary_beside("model.safetensors").filename().string()));
  EXPECT_TRUE(is_temporary_name(temporary_beside(std::string(300, 'n')).filename().string()));
  for (const auto* name :
       {"", ".", "model.safetensors", "a.partial-0123456789abcdef", ".a.partial-0123456789abcde",
        ".a.partial-0123456789abcdeg", ".a.partial-0123456789abcdef0", ".a-0123456789abcdef",
        ".a.partial-0123456789ABCDEF", ".apartial-0123456789abcdef", "last.new-17"}) {
    EXPECT_FALSE(is_temporary_name(name)) << name;
  }
}

}  // namespace
}  // namespace larmor
