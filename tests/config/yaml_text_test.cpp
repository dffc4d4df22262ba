#include "larmor/config/yaml_text.h"

#include <cmath>
#include <cstring>
#include <random>

#include <gtest/gtest.h>

#include "larmor/config/scalar.h"
#include "larmor/config/source.h"

namespace larmor {
namespace {

Json read_back(const std::string& flow) {
  const Source source{.name = "text", .short_name = "text"};
  Problems problems;
  const auto node = parse_value(flow, "key", source, problems);
  EXPECT_TRUE(node) << flow << ": " << (problems.empty() ? "" : problems[0].what);
  return node ? as_json(*node).value_or(Json("not finite")) : Json("not read");
}

TEST(YamlText, LeavesSafeWordsBare) {
  for (const char* word : {"runs", "/data/a-b_c.nii", "auto", "val/loss"}) EXPECT_EQ(yaml_word(word), word);
}

TEST(YamlText, QuotesWhatAReaderWouldTakeForSomethingElse) {
  for (const char* word : {"", "true", "No", "null", "~", "010", "1e5", "-x", ".inf", "*.nii", "a b", "a: b",
                           "x #y", "0,2", "a\nb", "\"", "{", "1:30", "2024-01-01"}) {
    EXPECT_EQ(yaml_word(word).front(), '"') << word;
    EXPECT_EQ(read_back(yaml_word(word)), Json(word)) << word;
  }
}

TEST(YamlText, GivesFractionsAPoint) {
  EXPECT_EQ(yaml_number(1), "1.0");
  EXPECT_EQ(yaml_number(1e-4), "1.0e-04");
  EXPECT_EQ(yaml_number(2.5e-7), "2.5e-07");
  EXPECT_EQ(yaml_number(0.1), "0.1");
}

TEST(YamlText, ReadsBackEveryNumber) {
  std::mt19937_64 generator(3);
  for (int i = 0; i < 5000; ++i) {
    const uint64_t bits = generator();
    double number = 0;
    std::memcpy(&number, &bits, sizeof number);
    if (!std::isnormal(number)) continue;
    EXPECT_EQ(read_back(yaml_number(number)), Json(number));
  }
}

TEST(YamlText, ReadsBackNestedValues) {
  const Json value = Json::parse(
      R"([{"Spacing": {"pixdim": [1.1, 2, -3.0e-9], "mode": "bi linear", "lazy": false, "x": null}}, [], {}, "ü\t\u0001"])");
  EXPECT_EQ(read_back(yaml_flow(value)), value);
  EXPECT_EQ(yaml_flow(Json::parse(R"({"a": [1, "b", true], "c d": 2.0})")),
            "{a: [1, b, true], \"c d\": 2.0}");
}

TEST(YamlText, ReadsBackEveryText) {
  std::mt19937 generator(5);
  for (int i = 0; i < 2000; ++i) {
    std::string word;
    for (size_t n = generator() % 12; n > 0; --n) word += static_cast<char>(generator() % 128);
    EXPECT_EQ(read_back(yaml_word(word)), Json(word)) << yaml_word(word);
  }
}

}  // namespace
}  // namespace larmor
