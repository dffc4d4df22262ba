#include "larmor/config/scalar.h"

#include <limits>

#include <gtest/gtest.h>

namespace larmor {
namespace {

Node plain(const std::string& word) {
  return {.kind = Node::Kind::plain, .text = word, .items = {}, .entries = {}};
}

TEST(Scalar, TakesOnlyTheTwoWordsForBooleans) {
  EXPECT_EQ(as_boolean("true"), true);
  EXPECT_EQ(as_boolean("False"), false);
  for (const char* word : {"yes", "no", "on", "off", "1", "0", "y", ""})
    EXPECT_FALSE(as_boolean(word)) << word;
}

TEST(Scalar, ReadsWholeNumbersToTheirLimits) {
  EXPECT_EQ(as_integer("9223372036854775807"), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(as_integer("-9223372036854775808"), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(as_integer("+7"), 7);
  EXPECT_EQ(as_integer("0"), 0);
  for (const char* word :
       {"9223372036854775808", "010", "-01", "0x10", "0o17", "1_000", "1.0", "1e3", "", "-", "+-1", "1 2"}) {
    EXPECT_FALSE(as_integer(word)) << word;
  }
}

TEST(Scalar, ReadsFiniteNumbersOnly) {
  EXPECT_EQ(as_number("1e-4"), 1e-4);
  EXPECT_EQ(as_number("-.5"), -0.5);
  EXPECT_EQ(as_number("2."), 2.0);
  EXPECT_EQ(as_number("0.1"), 0.1);
  EXPECT_EQ(as_number("3"), 3.0);
  for (const char* word :
       {"nan", "inf", ".inf", ".nan", "1e999", "00.5", "1e", ".", "e5", "0x1p3", "infinity", "1:30", "1,5"}) {
    EXPECT_FALSE(as_number(word)) << word;
  }
}

TEST(Scalar, KeepsWordsThatOnlyLookLikeNumbersAsWords) {
  EXPECT_EQ(as_json(plain("010")), Json("010"));
  EXPECT_EQ(as_json(plain("0x10")), Json("0x10"));
  EXPECT_EQ(as_json(plain("1:30")), Json("1:30"));
  EXPECT_EQ(as_json(plain("no")), Json("no"));
  EXPECT_EQ(as_json(plain("7")), Json(7));
  EXPECT_EQ(as_json(plain("7.0")), Json(7.0));
}

TEST(Scalar, RefusesNumbersThatAreNotFiniteHoweverDeep) {
  for (const char* word : {".inf", "-.Inf", ".NaN", "1e999"}) {
    Node list{.kind = Node::Kind::list, .text = {}, .items = {plain("1"), plain(word)}, .entries = {}};
    EXPECT_FALSE(as_json(list)) << word;
  }
}

}  // namespace
}  // namespace larmor
