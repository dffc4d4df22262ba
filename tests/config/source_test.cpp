#include "larmor/config/source.h"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"

namespace larmor {
namespace {

using ::testing::HasSubstr;

const Source file{.name = "folder/a.yaml", .short_name = "a.yaml", .is_file = true};

Node parsed(std::string_view content) {
  Problems problems;
  Node root = parse_config(content, file, problems);
  for (const Problem& problem : problems)
    ADD_FAILURE() << problem.place << ": " << problem.key << " " << problem.what;
  return root;
}

// All problems as lines.
std::string problems_of(std::string_view content) {
  Problems problems;
  parse_config(content, file, problems);
  std::string lines;
  for (const Problem& problem : problems)
    lines += text(problem.place, ": ", problem.key, " ", problem.what, "\n");
  return lines;
}

std::string nested(std::string_view opening, int times, std::string_view inside, std::string_view closing) {
  std::string out = "a: ";
  for (int i = 0; i < times; ++i) out += opening;
  out += inside;
  for (int i = 0; i < times; ++i) out += closing;
  return out;
}

TEST(Source, KnowsTheLineOfEveryKey) {
  const Node root = parsed("# first\na: 1\n\nb:\n  c: [1,\n    2]\n  d:\n    - x\n");
  EXPECT_EQ(find_entry(root, "a")->place.line, 2);
  const Entry* b = find_entry(root, "b");
  EXPECT_EQ(b->place.line, 4);
  EXPECT_EQ(find_entry(b->value, "c")->place.line, 5);
  EXPECT_EQ(find_entry(b->value, "d")->place.line, 7);
  EXPECT_EQ(place_text(find_entry(b->value, "d")->place), "folder/a.yaml:7");
  EXPECT_EQ(origin_text(find_entry(b->value, "d")->place), "a.yaml:7");
}

TEST(Source, TellsQuotedFromBareWords) {
  const Node root = parsed("a: 1\nb: '1'\nc: \"1\"\nd:\ne: ~\nf: \"\"\n");
  EXPECT_EQ(find_entry(root, "a")->value.kind, Node::Kind::plain);
  EXPECT_EQ(find_entry(root, "b")->value.kind, Node::Kind::quoted);
  EXPECT_EQ(find_entry(root, "c")->value.kind, Node::Kind::quoted);
  EXPECT_EQ(find_entry(root, "d")->value.kind, Node::Kind::nothing);
  EXPECT_EQ(find_entry(root, "e")->value.kind, Node::Kind::nothing);
  EXPECT_EQ(find_entry(root, "f")->value.kind, Node::Kind::quoted);
}

TEST(Source, ReadsJsonWithCommentsTabsAndTrailingCommas) {
  const Node root =
      parsed("// a comment\n{\n\t\"a\":1, /* two\nlines */\n\t\"b\": {\"c\": [\"x//y\", true,],},\n}\n");
  EXPECT_EQ(find_entry(root, "a")->value.text, "1");
  const Entry* c = find_entry(find_entry(root, "b")->value, "c");
  EXPECT_EQ(c->place.line, 5);
  EXPECT_EQ(c->value.items.front().text, "x//y");
}

TEST(Source, NamesEveryRepeatedKeyWithBothLines) {
  const std::string lines = problems_of("a: 1\nb: {x: 1, x: {y: 2}}\na: 2\n");
  EXPECT_THAT(lines, HasSubstr("folder/a.yaml:2: b.x is given twice\n"));
  EXPECT_THAT(lines, HasSubstr("folder/a.yaml:3: a is given twice; first on line 1"));
}

TEST(Source, KeepsTheFirstOfRepeatedKeys) {
  Problems problems;
  const Node root = parse_config("a: 1\na: {b: 2}\nc: 3\na: 4\n", file, problems);
  EXPECT_EQ(problems.size(), 2U);
  EXPECT_EQ(root.entries.size(), 2U);
  EXPECT_EQ(find_entry(root, "a")->value.text, "1");
}

TEST(Source, RefusesWhatYamlReadersDisagreeAbout) {
  EXPECT_THAT(problems_of("a: &x 1\nb: 2\n"), HasSubstr("a.yaml:1:  anchors"));
  EXPECT_THAT(problems_of("a: 1\nb: *x\n"),
              HasSubstr("a.yaml:2:  this is not YAML: a text that begins with *"));
  EXPECT_THAT(problems_of("a: 1\nb: !!str 2\n"), HasSubstr("a.yaml:2:  tags (tag:yaml.org,2002:str)"));
  EXPECT_THAT(problems_of("a: !thing {b: 1}\n"), HasSubstr("tags (!thing)"));
  EXPECT_THAT(problems_of("a: 1\n---\nb: 2\n"), HasSubstr("a second document"));
  EXPECT_THAT(problems_of("[1]: 2\n"), HasSubstr("a key has to be a word"));
  EXPECT_THAT(problems_of("? {a: 1}\n: 2\n"), HasSubstr("a key has to be a word"));
  EXPECT_THAT(problems_of("- 1\n"), HasSubstr("sections with keys were expected, and this is a list"));
  EXPECT_THAT(problems_of("just words\n"), HasSubstr("this is just words"));
  EXPECT_THAT(problems_of("a: [1\nb: 2\n"), HasSubstr("this is not YAML"));
}

TEST(Source, RefusesLettersThatTheParserWouldMisread) {
  EXPECT_THAT(problems_of(std::string("a: 1\nb: 2\004\nc: 3\n")),
              HasSubstr("a.yaml:2:  there is a control character here (4)"));
  EXPECT_THAT(problems_of(std::string("a: 1\0b", 6)), HasSubstr("control character here (0)"));
  for (const char* wrong :
       {"a: \xff", "a: \xc0\xaf", "a: \xed\xa0\x80", "a: \xf4\x90\x80\x80", "a: \xe2\x82", "a: \x80"}) {
    EXPECT_THAT(problems_of(wrong), HasSubstr("UTF-8")) << wrong;
  }
  EXPECT_EQ(find_entry(parsed("a: Gr\xc3\xb6\xc3\x9f"
                              "e \xe2\x82\xac \xf0\x9f\x98\x80\n"),
                       "a")
                ->value.text,
            "Gr\xc3\xb6\xc3\x9f"
            "e \xe2\x82\xac \xf0\x9f\x98\x80");
}

TEST(Source, BoundsTheDepth) {
  EXPECT_EQ(problems_of(nested("[", 63, "1", "]")), "");
  EXPECT_THAT(problems_of(nested("[", 64, "1", "]")), HasSubstr("more than 64 levels"));
  EXPECT_THAT(problems_of(nested("{a: ", 100000, "1", "}")), HasSubstr("more than 64 levels"));
  EXPECT_THAT(problems_of("a:\n  " + nested("- ", 100000, "1", "").substr(3)),
              HasSubstr("more than 64 levels"));
}

TEST(Source, TakesAValueAsOneFlowText) {
  Problems problems;
  EXPECT_EQ(parse_value("[a, 'b']", "k", file, problems)->items.size(), 2U);
  EXPECT_EQ(parse_value("0,2", "k", file, problems)->text, "0,2");
  EXPECT_EQ(parse_value("", "k", file, problems)->kind, Node::Kind::quoted);
  EXPECT_TRUE(problems.empty());
}

TEST(Source, RefusesAValueThatYamlWouldCutShort) {
  const Source line{.name = "command line", .short_name = "command line"};
  for (const char* value :
       {"/data/set #2", "*.nii", "[a", "a: b: c", "--- x", "{a: 1} b", "&a b", "!tag x", "@x", "%x", "# x"}) {
    Problems problems;
    EXPECT_FALSE(parse_value(value, "data.folder", line, problems)) << value;
    ASSERT_EQ(problems.size(), 1U) << value;
    EXPECT_EQ(problems[0].key, "data.folder");
    EXPECT_EQ(problems[0].place, "command line");
  }
}

TEST(Source, SurvivesNoiseAndSpoiltConfigs) {
  const std::string good =
      "run: {seed: 1}\ndata:\n  include: [\"*.nii\", a]\n  split: {train: 0.8}\n# x\noptim:\n  betas:\n  - "
      "0.9\n";
  constexpr std::string_view letters = "{}[]:,-?&*!|>'\"%@`#\n \t/\\~<=a0.";
  std::mt19937 generator(11);
  for (int i = 0; i < 4000; ++i) {
    std::string content = i % 4 == 0 ? std::string(generator() % 60, ' ') : good;
    for (size_t n = 1 + generator() % 12; n > 0 && !content.empty(); --n) {
      content[generator() % content.size()] = letters[generator() % letters.size()];
    }
    Problems problems;
    parse_config(content, file, problems);
  }
}

}  // namespace
}  // namespace larmor
