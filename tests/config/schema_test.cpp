// The schema has to say what load_config does.
#include <gtest/gtest.h>

#include "larmor/base/text.h"
#include "larmor/config/load.h"
#include "larmor/config/reader.h"

#include "tests/config/support/made_up_workload.h"

namespace larmor {
namespace {

Json made_up_schema() {
  MadeUpWorkload workload;
  return config_schema(workload.fields());
}

// What the schema says of a dotted key; null when it does not know it.
Json property(const Json& schema, const std::string& key) {
  Json at = schema;
  for (const std::string& word : split(key, '.')) {
    if (!at.contains("properties") || !at["properties"].contains(word)) return nullptr;
    at = Json(at["properties"][word]);
  }
  return at;
}

int64_t count_leaves(const Json& schema) {
  if (!schema.contains("properties")) return 1;
  int64_t leaves = 0;
  for (const auto& [name, below] : schema["properties"].items()) leaves += count_leaves(below);
  return leaves;
}

void expect_closed(const Json& schema, const std::string& where) {
  if (!schema.contains("properties")) return;
  EXPECT_EQ(schema["type"], "object") << where;
  EXPECT_EQ(schema["additionalProperties"], Json(false)) << where;
  for (const auto& [name, below] : schema["properties"].items()) expect_closed(below, text(where, ".", name));
}

TEST(Schema, ListsEveryKeyWithMeaningAndDefault) {
  const Json schema = made_up_schema();
  MadeUpWorkload workload;
  const KeyList keys = list_keys(workload.fields());
  for (const std::string& key : keys.leaves) {
    const Json found = property(schema, key);
    ASSERT_FALSE(found.is_null()) << key;
    EXPECT_TRUE(found.contains("description") && found.contains("default")) << key;
  }
  EXPECT_EQ(count_leaves(schema), static_cast<int64_t>(keys.leaves.size()));
}

TEST(Schema, IsClosedAtEveryLevelAndNamesItsDraft) {
  const Json schema = made_up_schema();
  EXPECT_EQ(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
  expect_closed(schema, "");
}

TEST(Schema, SaysRangesAndWords) {
  const Json schema = made_up_schema();
  EXPECT_EQ(
      property(schema, "run.seed"),
      Json::parse(
          R"({"type": "integer", "minimum": 0, "description": "seed of every random draw of the run", "default": 42})"));
  EXPECT_EQ(property(schema, "checkpoint.mode")["enum"], Json::parse(R"(["min", "max"])"));
  EXPECT_EQ(property(schema, "optim.betas")["items"],
            Json::parse(R"({"type": "number", "minimum": 0, "maximum": 1})"));
  EXPECT_EQ(property(schema, "train.micro_batch")["anyOf"],
            Json::parse(R"([{"const": "auto"}, {"type": "integer", "minimum": 1}])"));
  EXPECT_EQ(property(schema, "model.attention_levels")["items"]["type"], "boolean");
  EXPECT_EQ(property(schema, "train.length")["default"], "100ep");
  EXPECT_EQ(property(schema, "optim.generator.schedule.name")["enum"][1], "warmup_cosine");
}

}  // namespace
}  // namespace larmor
