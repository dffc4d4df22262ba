#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/plan/plan.h"

#include "tests/plan/support/machines.h"

namespace larmor {
namespace {

using ::testing::ElementsAre;

Json example() {
  RunConfig config;
  config.parallel.ranks = "2";
  return to_json(make_plan(testing::machine(4, 16), testing::autoencoder(), config));
}

std::string refusal(const Json& json) {
  try {
    plan_from_json(json);
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::usage);
    return error.message() + " | " + error.hint();
  }
  return "accepted";
}

TEST(PlanJson, HasTheKeysOfTheCommandLinePage) {
  std::vector<std::string> keys;
  const Json json = example();
  for (const auto& item : json.items()) keys.push_back(item.key());
  EXPECT_THAT(keys,
              ElementsAre("format", "device", "ranks", "micro_batch", "accumulation", "global_batch",
                          "precision", "layout", "strategy", "activation_checkpointing", "offload_optimizer",
                          "sync_batch_norm", "whole_micro_batch", "compression", "exchange_every_micro_batch",
                          "graphs", "deterministic", "loader_threads", "prefetch", "threads_per_rank",
                          "bucket_bytes", "memory", "idle_devices", "reasons"));
  EXPECT_EQ(json["ranks"][1], Json({{"rank", 1}, {"device", -1}, {"cores", {2, 3}}}));
  EXPECT_EQ(json["memory"]["total"],
            json["memory"]["weights"].get<int64_t>() + json["memory"]["gradients"].get<int64_t>() +
                json["memory"]["optimizer"].get<int64_t>() + json["memory"]["activations"].get<int64_t>() +
                json["memory"]["batch"].get<int64_t>());
}

TEST(PlanJson, NamesTheKeyThatIsWrong) {
  Json json = example();
  json["precision"] = "fp8";
  EXPECT_EQ(refusal(json), "plan.json: precision is \"fp8\" | one of: fp32 bf16 fp16 fp64");
  json = example();
  json.erase("prefetch");
  EXPECT_EQ(refusal(json), "plan.json: the key prefetch is missing | ");
  json = example();
  json["ranks"][0]["cores"] = {0, "1"};
  EXPECT_EQ(refusal(json), "plan.json: ranks[0]: cores must be a whole number, found \"1\" | ");
  json = example();
  json["ranks"][1]["rank"] = 0;
  EXPECT_EQ(refusal(json), "plan.json: ranks[1] calls itself rank 0 | ");
  json = example();
  json["format"] = 9;
  EXPECT_EQ(refusal(json), "plan.json: format 9 is not known; this is 1 | ");
}

TEST(PlanJson, OfAnEarlierVersionMeansWhatItDid) {
  Json json = example();
  for (const char* key : {"activation_checkpointing", "offload_optimizer", "sync_batch_norm", "compression",
                          "exchange_every_micro_batch"}) {
    json.erase(key);
  }
  json["memory"].erase("offloaded");
  json["memory"].erase("measured");
  EXPECT_EQ(to_json(plan_from_json(json)), example());
}

TEST(PlanJson, KeepsHowMemoryIsSpared) {
  Json json = example();
  json["strategy"] = "zero3";
  json["activation_checkpointing"] = "all";
  json["offload_optimizer"] = json["sync_batch_norm"] = json["exchange_every_micro_batch"] = true;
  json["compression"] = "bf16";
  json["memory"]["offloaded"] = 12;
  EXPECT_EQ(to_json(plan_from_json(json)), json);
}

TEST(PlanJson, RefusesAPlanThatDoesNotMultiplyUp) {
  Json json = example();
  json["accumulation"] = 3;
  EXPECT_EQ(refusal(json), "plan.json: micro_batch 2 × accumulation 3 × 2 ranks is not global_batch 4 | ");
  json["accumulation"] = 0;
  EXPECT_EQ(refusal(json), "plan.json: a batch, thread or prefetch count is 0 | ");
  json["ranks"] = Json::array();
  EXPECT_EQ(refusal(json), "plan.json: ranks is empty | ");
}

}  // namespace
}  // namespace larmor
