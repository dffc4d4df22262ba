#include "larmor/launch/host.h"

#include <gtest/gtest.h>

#include "larmor/base/error.h"

namespace larmor {
namespace {

GroupStart every_start_field_set() {
  GroupStart start;
  start.generation = int64_t{1} << 40;
  start.world_size = 6;
  start.local_count = 3;
  start.ranks = {{.rank = 4, .local_index = 1, .cores = {2, 3}},
                 {.rank = 5, .local_index = 2, .cores = {}, .ranks = 3}};
  start.master_address = "fe80::1";
  start.master_port = 65535;
  start.threads_per_rank = 7;
  start.program = "/opt/larmor/bin/larmor";
  start.arguments = {"train", "a run", "--resume", "never", "\"quoted\""};
  start.environment = {{"LARMOR_JOB_START", "1.5"}, {"EMPTY", ""}};
  start.log_folder = "/runs/one/logs";
  return start;
}

RankEnding every_ending_field_set() {
  return {.rank = 3,
          .ranks = 2,
          .ending = {.status = 0, .signal = 9},
          .lost = true,
          .phase = Phase::saving,
          .step = int64_t{1} << 40,
          .evidence = "the memory ran out",
          .last_lines = "one\ntwo"};
}

TEST(GroupStartJson, ReadsBackWhatItWrote) {
  const Json json = to_json(every_start_field_set());
  const GroupStart read = group_start_from_json(Json::parse(json.dump()));
  EXPECT_EQ(to_json(read), json);
  EXPECT_EQ(read.ranks[0].cores, (std::vector<int>{2, 3}));
  EXPECT_EQ(read.ranks[1].local_index, 2);
  EXPECT_EQ(read.ranks[1].ranks, 3);
  EXPECT_EQ(read.environment.at("EMPTY"), "");
  EXPECT_EQ(read.generation, int64_t{1} << 40);
  EXPECT_EQ(to_json(group_start_from_json(to_json(GroupStart{}))), to_json(GroupStart{}));
}

TEST(RankEndingJson, ReadsBackWhatItWrote) {
  const Json json = to_json(every_ending_field_set());
  const RankEnding read = rank_ending_from_json(Json::parse(json.dump()));
  EXPECT_EQ(to_json(read), json);
  EXPECT_EQ(read.phase, Phase::saving);
  EXPECT_EQ(read.ending.signal, 9);
}

TEST(HostJson, ThrowsOnWhatItDoesNotWrite) {
  const Json nonsense[] = {nullptr, 7, "words", Json::array({1}), Json::object(), {{"rank", 0}}};
  for (const Json& json : nonsense) {
    EXPECT_ANY_THROW(group_start_from_json(json)) << json;
    EXPECT_ANY_THROW(rank_ending_from_json(json)) << json;
  }
  const Json start = to_json(every_start_field_set()), ending = to_json(every_ending_field_set());
  for (const auto& item : start.items()) {
    Json json = start;
    json.erase(item.key());
    EXPECT_ANY_THROW(group_start_from_json(json)) << item.key();
    json[item.key()] = {{"another", "kind"}};
    if (item.key() != "environment") {
      EXPECT_ANY_THROW(group_start_from_json(json)) << item.key();
    }
  }
  for (const auto& item : ending.items()) {
    Json json = ending;
    json[item.key()] = Json::array();
    EXPECT_ANY_THROW(rank_ending_from_json(json)) << item.key();
  }
}

TEST(HostJson, KnowsNoEndingOfNobody) {
  Json json = to_json(every_ending_field_set());
  json["ranks"] = 0;
  EXPECT_THROW(rank_ending_from_json(json), Error);
}

TEST(HostJson, KnowsNoOtherPhasesThanThereAre) {
  for (const int phase : {-1, static_cast<int>(phase_count)}) {
    Json json = to_json(every_ending_field_set());
    json["phase"] = phase;
    EXPECT_THROW(rank_ending_from_json(json), Error);
  }
}

}  // namespace
}  // namespace larmor
