#include "larmor/launch/hosts/host.h"

#include <utility>

#include <gtest/gtest.h>

#include "larmor/base/error.h"

namespace larmor {
namespace {

GroupStart every_start_field_set() {
  GroupStart start;
  start.generation = int64_t{1} << 40;
  start.world_size = 8;
  start.local_count = 3;
  start.ranks = {{.rank = 4, .local_index = 1, .cores = {2, 3}},
                 {.rank = 5, .local_index = 2, .cores = {}, .ranks = 3}};
  start.master_port = 65535;
  start.threads_per_rank = 7;
  start.terms = {.run = "one", .resume_step = 40, .began_at_ms = 1500, .ends_at = int64_t{1} << 33};
  start.command_hash = std::string(64, 'a');
  start.store_nonce = std::string(32, '5');
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
  EXPECT_EQ(read.terms, every_start_field_set().terms);
  EXPECT_EQ(read.generation, int64_t{1} << 40);
  EXPECT_EQ(to_json(group_start_from_json(to_json(GroupStart{}))), to_json(GroupStart{}));
}

TEST(GroupStartJson, CarriesNothingThatCouldBeRun) {
  GroupStart start = every_start_field_set();
  start.program = "/bin/sh";
  start.arguments = {"-c", "id"};
  start.environment = {{"LD_PRELOAD", "theirs.so"}};
  start.log_folder = "/theirs";
  start.master_address = "192.0.2.1";
  start.store_key = RunKey::draw();
  EXPECT_EQ(to_json(start), to_json(every_start_field_set()));
  Json json = to_json(start);
  json["program"] = "/bin/sh";
  json["arguments"] = {"-c", "id"};
  json["environment"] = {{"LD_PRELOAD", "theirs.so"}};
  json["log_folder"] = "/theirs";
  json["master_address"] = "192.0.2.1";
  const GroupStart read = group_start_from_json(json);
  EXPECT_TRUE(read.program.empty() && read.arguments.empty() && read.environment.empty());
  EXPECT_TRUE(read.log_folder.empty());
  EXPECT_EQ(read.master_address, GroupStart().master_address);
  EXPECT_FALSE(read.store_key);
}

TEST(GroupStartJson, RefusesNumbersThatNoStartHas) {
  const Json whole = to_json(every_start_field_set());
  const std::vector<std::pair<std::string, Json>> wrong{{"/generation", -1},
                                                        {"/generation", 1e300},
                                                        {"/world_size", 0},
                                                        {"/world_size", 3e9},
                                                        {"/world_size", INT64_MAX},
                                                        {"/local_count", -1},
                                                        {"/local_count", 9},
                                                        {"/master_port", 65536},
                                                        {"/master_port", -1},
                                                        {"/threads_per_rank", 0},
                                                        {"/threads_per_rank", 1e300},
                                                        {"/ranks", "all"},
                                                        {"/ranks/0/rank", 8},
                                                        {"/ranks/0/rank", -1},
                                                        {"/ranks/1/ranks", 4},
                                                        {"/ranks/1/ranks", UINT64_MAX},
                                                        {"/ranks/0/local_index", 8},
                                                        {"/ranks/0/cores", {1e300}},
                                                        {"/ranks/0/cores", {-1}},
                                                        {"/terms/resume_step", -3},
                                                        {"/terms/began_at_ms", 1.5},
                                                        {"/terms/ends_at", INT64_MIN},
                                                        {"/terms/run", std::string(5000, 'x')},
                                                        {"/command_hash", "id"},
                                                        {"/command_hash", std::string(64, 'G')},
                                                        {"/store_nonce", "7"}};
  for (const auto& [place, value] : wrong) {
    Json json = whole;
    json[Json::json_pointer(place)] = value;
    EXPECT_ANY_THROW(group_start_from_json(json)) << place << " " << value;
  }
}

TEST(StoreKeyOf, IsAnotherForEachStart) {
  const auto key = RunKey::draw();
  EXPECT_EQ(store_key_of(key, "1"), store_key_of(key, "1"));
  EXPECT_NE(store_key_of(key, "1"), store_key_of(key, "2"));
  EXPECT_NE(store_key_of(key, "1"), store_key_of(RunKey::draw(), "1"));
  EXPECT_EQ(store_key_of(key, ""), std::nullopt);
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
    EXPECT_ANY_THROW(group_start_from_json(json)) << item.key();
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

TEST(HostJson, KnowsNoEndingWithNumbersThatNoneHas) {
  const std::vector<std::pair<const char*, Json>> wrong{
      {"rank", 1e300}, {"rank", INT64_MIN}, {"rank", UINT64_MAX}, {"ranks", 1e300}, {"ranks", INT64_MAX},
      {"status", 256}, {"signal", -1},      {"step", 1e300},      {"step", -1}};
  for (const auto& [name, value] : wrong) {
    Json json = to_json(every_ending_field_set());
    json[name] = value;
    EXPECT_THROW(rank_ending_from_json(json), Error) << name << " " << value;
  }
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
