#include "larmor/config/leaf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace larmor {
namespace {

using ::testing::HasSubstr;

Node written(const std::string& flow) {
  const Source source{.name = "test", .short_name = "test"};
  Problems problems;
  auto node = parse_value(flow, "key", source, problems);
  EXPECT_TRUE(node) << flow;
  return node.value_or(Node{});
}

// The complaint about a value, "" when it is taken.
std::string complaint(const Leaf& leaf, const std::string& flow) {
  return assign(leaf, written(flow)).value_or("");
}

template <class Value>
struct Slot {
  Value value{};
  Leaf leaf;
  explicit Slot(Range range = {}) : leaf{"name", &value, "help", range} {}
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;
};

TEST(Leaf, SaysWhatItExpectedAndWhatItGot) {
  Slot<bool> flag;
  Slot<int64_t> count(at_least_one);
  Slot<double> share(fraction);
  Slot<std::string> name;
  Slot<Length> length;
  EXPECT_EQ(complaint(flag.leaf, "yes"), "has to be true or false; got yes");
  EXPECT_EQ(complaint(flag.leaf, "'true'"), "has to be true or false; got \"true\"");
  EXPECT_EQ(complaint(count.leaf, "0"), "has to be a whole number of at least 1; got 0");
  EXPECT_EQ(complaint(count.leaf, "1.5"), "has to be a whole number of at least 1; got 1.5");
  EXPECT_EQ(complaint(count.leaf, "\"3\""), "has to be a whole number of at least 1; got \"3\"");
  EXPECT_EQ(complaint(count.leaf, "010"),
            "has to be a whole number of at least 1; got 010 (leave the zero in front out)");
  EXPECT_EQ(complaint(share.leaf, "1.5"), "has to be a number from 0 to 1; got 1.5");
  EXPECT_EQ(complaint(share.leaf, ".nan"), "has to be a number from 0 to 1; got .nan");
  EXPECT_EQ(complaint(name.leaf, "[a]"), "has to be a text; got a list");
  EXPECT_EQ(complaint(name.leaf, "true"), "has to be a text; got true");
  EXPECT_EQ(complaint(name.leaf, "~"), "has to be a text; got nothing");
  EXPECT_THAT(complaint(length.leaf, "10"), HasSubstr("a length such as 10ep"));
}

TEST(Leaf, LeavesTheFieldAloneWhenItComplains) {
  Slot<std::vector<int64_t>> list(at_least_one);
  list.value = {4, 5};
  EXPECT_EQ(complaint(list.leaf, "[1, 2, x]"),
            "has to be a list, each entry a whole number of at least 1; got x at position 3");
  EXPECT_EQ(list.value, (std::vector<int64_t>{4, 5}));
  EXPECT_EQ(complaint(list.leaf, "7"), "has to be a list in brackets; got 7");
}

TEST(Leaf, TakesAutoOnlyWhereNothingIsAValue) {
  Slot<std::optional<int64_t>> count(at_least_one);
  count.value = 3;
  EXPECT_TRUE(count.leaf.can_be_auto());
  EXPECT_EQ(complaint(count.leaf, "auto"), "");
  EXPECT_FALSE(count.value.has_value());
  EXPECT_EQ(complaint(count.leaf, "0"), "has to be a whole number of at least 1, or auto; got 0");
  Slot<int64_t> plain;
  EXPECT_FALSE(plain.leaf.can_be_auto());
  EXPECT_NE(complaint(plain.leaf, "auto"), "");
}

TEST(Leaf, OffersTheNearestWord) {
  std::string value = "adamw";
  const std::vector<std::string> words{"adamw", "adam", "sgd"};
  const Leaf leaf{"name", &value, "help", {}, words};
  EXPECT_EQ(complaint(leaf, "sgdd"), "has to be one of adamw, adam, sgd; got sgdd; did you mean sgd?");
  EXPECT_EQ(complaint(leaf, "[adam]"), "has to be one of adamw, adam, sgd; got a list");
  EXPECT_EQ(complaint(leaf, "adam"), "");
  EXPECT_EQ(value, "adam");
}

TEST(Leaf, KeepsTextsAsTheyAreWritten) {
  Slot<std::string> name;
  for (const char* word : {"010", "1e3", "2024-01-01", "auto", "no"}) {
    EXPECT_EQ(complaint(name.leaf, word), "");
    EXPECT_EQ(name.value, word);
  }
}

TEST(Leaf, WritesEveryKindSoThatItReadsBack) {
  Slot<bool> flag;
  Slot<int64_t> count;
  Slot<double> number;
  Slot<std::string> name;
  Slot<Length> length;
  Slot<std::vector<std::string>> names;
  Slot<std::vector<int64_t>> counts;
  Slot<std::vector<double>> numbers;
  Slot<std::vector<bool>> flags;
  Slot<std::optional<bool>> maybe;
  Slot<std::optional<int64_t>> maybe_count;
  Slot<std::optional<uint64_t>> bytes;
  Slot<Json> any;
  const std::vector<std::pair<const Leaf*, const char*>> rows{
      {&flag.leaf, "true"},     {&count.leaf, "-3"},           {&number.leaf, "1.0e-07"},
      {&name.leaf, "\"a: b\""}, {&length.leaf, "90min"},       {&names.leaf, "[\"*.nii\", b]"},
      {&counts.leaf, "[]"},     {&numbers.leaf, "[0.9, 1.0]"}, {&flags.leaf, "[true, false]"},
      {&maybe.leaf, "auto"},    {&maybe.leaf, "false"},        {&maybe_count.leaf, "8"},
      {&bytes.leaf, "48GiB"},   {&bytes.leaf, "auto"},         {&any.leaf, "[{Crop: {size: [1, 2]}}]"}};
  for (const auto& [leaf, flow] : rows) {
    EXPECT_EQ(complaint(*leaf, flow), "") << flow;
    EXPECT_EQ(value_text(*leaf), flow);
  }
  EXPECT_EQ(value_json(length.leaf), Json("90min"));
  EXPECT_EQ(value_json(bytes.leaf), Json("auto"));
  EXPECT_EQ(value_json(flags.leaf), Json::parse("[true, false]"));
}

TEST(Leaf, RefusesInfiniteNumbersInFreeValues) {
  Slot<Json> any;
  EXPECT_THAT(complaint(any.leaf, "[{Crop: {size: .inf}}]"), HasSubstr("has to be made of finite numbers"));
}

}  // namespace
}  // namespace larmor
