#include "larmor/base/json.h"

#include <fstream>
#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/text.h"

namespace larmor {
namespace {

using ::testing::HasSubstr;

std::string refusal(std::string_view source) {
  try {
    parse_json(source, "plan.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::data);
    return error.message();
  }
  return "accepted";
}

std::string nested(int depth) {
  return std::string(static_cast<size_t>(depth), '[') + std::string(static_cast<size_t>(depth), ']');
}

TEST(ParseJson, ReadsWhatToTextWroteAndKeepsTheOrderOfKeys) {
  const Json value =
      parse_json(R"({"z": [1, -2, 2.5e3, true, null, "\u00e4"], "a": {"b": {}}, "e": []})", "x");
  EXPECT_EQ(value.begin().key(), "z");
  EXPECT_EQ(value["z"][2].get<double>(), 2500.0);
  EXPECT_EQ(value["z"][5].get<std::string>(), "\xC3\xA4");
  EXPECT_TRUE(value["z"][0].is_number_integer());
  EXPECT_EQ(parse_json(to_text(value), "x"), value);
}

TEST(ParseJson, ReadsBareValues) {
  EXPECT_EQ(parse_json("18446744073709551615", "x").get<uint64_t>(), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(parse_json(" \"word\" ", "x"), "word");
}

TEST(ParseJson, RefusesADuplicateKeyAndNamesPlaceAndLine) {
  EXPECT_EQ(refusal("{\n  \"a\": 1,\n  \"b\": 2,\n  \"a\": 3\n}"),
            "plan.json:4: not valid JSON: key \"a\" is given twice");
}

TEST(ParseJson, AllowsTheSameKeyInDifferentObjects) {
  EXPECT_EQ(refusal(R"({"a": {"a": 1}, "b": {"a": 2}})"), "accepted");
}

TEST(ParseJson, RefusesWhatIsNotJsonAtTheRightLine) {
  EXPECT_THAT(refusal("{\"a\": 1,\n}"), HasSubstr("plan.json:2: "));
  EXPECT_THAT(refusal("{\"a\": 1}\n\ntrailing"), HasSubstr("plan.json:3: "));
  EXPECT_THAT(refusal("// a comment\n{}"), HasSubstr("plan.json:1: "));
  EXPECT_THAT(refusal(""), HasSubstr("plan.json:1: "));
  EXPECT_THAT(refusal("[NaN]"), HasSubstr("plan.json:1: "));
  EXPECT_THAT(refusal("[1e999]"), HasSubstr("plan.json:1: "));
  EXPECT_THAT(refusal("[\"\xFF\"]"), HasSubstr("UTF-8"));
}

TEST(ParseJson, BoundsTheDepth) {
  EXPECT_EQ(refusal(nested(64)), "accepted");
  EXPECT_THAT(refusal(nested(65)), HasSubstr("64 levels"));
  EXPECT_THAT(refusal(std::string(2'000'000, '[')), HasSubstr("64 levels"));
}

TEST(ParseJson, TakesLinearTimeForAnObjectWithManyKeys) {
  std::string source = "{\"k\": 0";
  for (int i = 0; i < 200'000; ++i) source += text(", \"", i, "\": 0");
  EXPECT_EQ(parse_json(source + "}", "x").size(), 200'001U);
}

TEST(ReadJson, NamesTheFileInItsErrors) {
  const ScratchFolder scratch;
  const std::filesystem::path path = scratch.path() / "manifest.json";
  std::ofstream(path) << "{\n\"a\" 1}";
  try {
    read_json(path);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.message(), HasSubstr(path.string() + ":2: "));
  }
  EXPECT_THROW(read_json(scratch.path() / "absent.json"), Error);
}

TEST(ToText, TurnsNonFiniteNumbersIntoNullAndEndsWithANewline) {
  const Json value = {{"loss", std::numeric_limits<double>::quiet_NaN()}};
  EXPECT_EQ(to_text(value), "{\n  \"loss\": null\n}\n");
}

TEST(ToText, DoesNotThrowForBytesThatAreNoUtf8) { EXPECT_NO_THROW(to_text(Json("\xFF\xFE"))); }

}  // namespace
}  // namespace larmor
