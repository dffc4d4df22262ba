// JSON among YAML: comments go, strings and line numbers stay.
#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "larmor/config/source.h"

namespace larmor {
namespace {

TEST(SourceText, TellsJsonFromYamlInBraces) {
  EXPECT_TRUE(looks_like_json(R"({"a": 1})"));
  EXPECT_TRUE(looks_like_json("// first\n/* second */ {\n  // third\n  \"a\": 1}"));
  EXPECT_TRUE(looks_like_json("{}"));
  EXPECT_FALSE(looks_like_json("{include: [a/*.nii, b/*.nii]}"));
  EXPECT_FALSE(looks_like_json("a: 1"));
  EXPECT_FALSE(looks_like_json("# {\"a\": 1}\na: 1"));
  EXPECT_FALSE(looks_like_json(""));
  EXPECT_FALSE(looks_like_json("/* never closed {\"a\": 1}"));
}

TEST(SourceText, BlanksCommentsAndKeepsStrings) {
  EXPECT_EQ(without_comments("{\"a\": 1, // one\n\"b\": 2}"), "{\"a\": 1,       \n\"b\": 2}");
  EXPECT_EQ(without_comments("{/* x\ny */\"a\": 1}"), "{    \n    \"a\": 1}");
  EXPECT_EQ(without_comments(R"({"u": "http://x/*.nii", "q": "\"//"})"),
            R"({"u": "http://x/*.nii", "q": "\"//"})");
  EXPECT_EQ(without_comments("{} /* open"), "{}        ");
  EXPECT_EQ(without_comments("\"open"), "\"open");
  EXPECT_EQ(without_comments("/"), "/");
  EXPECT_EQ(without_comments("\"ends with \\"), "\"ends with \\");
}

TEST(SourceText, NeverMovesALineOrALetter) {
  std::mt19937 generator(7);
  constexpr std::string_view letters = "/*\"\\\n{}a: ";
  for (int i = 0; i < 5000; ++i) {
    std::string content;
    for (size_t n = generator() % 40; n > 0; --n) content += letters[generator() % letters.size()];
    const std::string out = without_comments(content);
    ASSERT_EQ(out.size(), content.size());
    for (size_t at = 0; at < out.size(); ++at)
      ASSERT_TRUE(out[at] == content[at] || out[at] == ' ') << content;
    ASSERT_EQ(std::count(out.begin(), out.end(), '\n'), std::count(content.begin(), content.end(), '\n'));
    looks_like_json(content);
  }
}

}  // namespace
}  // namespace larmor
