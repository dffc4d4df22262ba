#include "larmor/launch/host.h"

#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor {

Json to_json(const GroupStart& start) {
  Json json;
  json["generation"] = start.generation;
  json["world_size"] = start.world_size;
  json["local_count"] = start.local_count;
  json["ranks"] = Json::array();
  for (const auto& place : start.ranks) {
    json["ranks"].push_back({{"rank", place.rank},
                             {"local_index", place.local_index},
                             {"cores", place.cores},
                             {"ranks", place.ranks}});
  }
  json["master_address"] = start.master_address;
  json["master_port"] = start.master_port;
  json["threads_per_rank"] = start.threads_per_rank;
  json["program"] = start.program.string();
  json["arguments"] = start.arguments;
  json["environment"] = start.environment;
  json["log_folder"] = start.log_folder.string();
  json["first_rank_speaks"] = start.first_rank_speaks;
  return json;
}

GroupStart group_start_from_json(const Json& json) {
  GroupStart start;
  start.generation = json.at("generation").get<int64_t>();
  start.world_size = json.at("world_size").get<int>();
  start.local_count = json.at("local_count").get<int>();
  for (const auto& place : json.at("ranks")) {
    start.ranks.push_back({.rank = place.at("rank").get<int>(),
                           .local_index = place.at("local_index").get<int>(),
                           .cores = place.at("cores").get<std::vector<int>>(),
                           .ranks = place.at("ranks").get<int>()});
  }
  start.master_address = json.at("master_address").get<std::string>();
  start.master_port = json.at("master_port").get<int>();
  start.threads_per_rank = json.at("threads_per_rank").get<int>();
  start.program = json.at("program").get<std::string>();
  start.arguments = json.at("arguments").get<std::vector<std::string>>();
  start.environment = json.at("environment").get<std::map<std::string, std::string>>();
  start.log_folder = json.at("log_folder").get<std::string>();
  start.first_rank_speaks = json.at("first_rank_speaks").get<bool>();
  return start;
}

Json to_json(const RankEnding& ending) {
  return {{"rank", ending.rank},
          {"ranks", ending.ranks},
          {"status", ending.ending.status},
          {"signal", ending.ending.signal},
          {"lost", ending.lost},
          {"phase", static_cast<int>(ending.phase)},
          {"step", ending.step},
          {"evidence", ending.evidence},
          {"last_lines", ending.last_lines}};
}

RankEnding rank_ending_from_json(const Json& json) {
  RankEnding ending;
  ending.rank = json.at("rank").get<int>();
  ending.ranks = json.at("ranks").get<int>();
  if (ending.ranks < 1) fail(Exit::rank_lost, text("an ending of ", ending.ranks, " ranks"));
  ending.ending.status = json.at("status").get<int>();
  ending.ending.signal = json.at("signal").get<int>();
  ending.lost = json.at("lost").get<bool>();
  const int phase = json.at("phase").get<int>();
  if (phase < 0 || phase >= static_cast<int>(phase_count))
    fail(Exit::rank_lost, text("an ending in phase ", phase, ", which there is not"));
  ending.phase = static_cast<Phase>(phase);
  ending.step = json.at("step").get<int64_t>();
  ending.evidence = json.at("evidence").get<std::string>();
  ending.last_lines = json.at("last_lines").get<std::string>();
  return ending;
}

}  // namespace larmor
