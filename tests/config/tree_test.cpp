#include "larmor/config/tree.h"

#include <gtest/gtest.h>

#include "larmor/base/text.h"

namespace larmor {
namespace {

Node word(const char* value) {
  return {.kind = Node::Kind::plain, .text = value, .items = {}, .entries = {}};
}

TEST(Tree, TakesValuesBelowTheSameWords) {
  const Source source{.name = "here", .short_name = "here"};
  Node tree = empty_mapping();
  Problems problems;
  put_value(tree, split("a.b", '.'), {&source, 0}, word("1"), problems);
  put_value(tree, split("a.c.d", '.'), {&source, 0}, word("2"), problems);
  EXPECT_TRUE(problems.empty());
  ASSERT_EQ(tree.entries.size(), 1U);
  const Node& below = find_entry(tree, "a")->value;
  EXPECT_EQ(find_entry(below, "b")->value.text, "1");
  EXPECT_EQ(find_entry(find_entry(below, "c")->value, "d")->value.text, "2");
}

TEST(Tree, RefusesASecondValueOfAKey) {
  const Source first{.name = "first", .short_name = "first"},
      second{.name = "second", .short_name = "second"};
  Node tree = empty_mapping();
  Problems problems;
  put_value(tree, split("a.b", '.'), {&first, 0}, word("1"), problems);
  put_value(tree, split("a.b", '.'), {&second, 0}, word("2"), problems);
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].key, "a.b");
  EXPECT_EQ(problems[0].place, "second");
  EXPECT_EQ(problems[0].what, "is given twice; first by first");
  EXPECT_EQ(find_entry(find_entry(tree, "a")->value, "b")->value.text, "1");
}

}  // namespace
}  // namespace larmor
