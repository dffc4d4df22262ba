#include "larmor/launch/hosts/host.h"

#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/net/wire_number.h"

namespace larmor {
namespace {

constexpr int most_cores = 1 << 16, most_port = 65535, most_threads = 1 << 16;
constexpr size_t nonce_digits = 32, hash_digits = 64, most_words = size_t{1} << 20;

/// Digits of that number, or none at all.
std::string hex_digits(const Json& json, const char* name, size_t count) {
  auto digits = short_text(json, name, count);
  const bool are_digits = digits.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!digits.empty() && (digits.size() != count || !are_digits))
    fail(Exit::rank_lost, text("a message came with a wrong \"", name, "\""));
  return digits;
}

RankProcess process_from_json(const Json& json, int world_size) {
  RankProcess place;
  place.rank = whole_number(json, "rank", 0, world_size - 1);
  place.ranks = whole_number(json, "ranks", 1, world_size - place.rank);
  place.local_index = whole_number(json, "local_index", 0, world_size - 1);
  const auto& cores = json.at("cores");
  if (!cores.is_array() || cores.size() > most_cores) fail(Exit::rank_lost, "a place with too many cores");
  for (const auto& core : cores)
    place.cores.push_back(whole_number({{"cores", core}}, "cores", 0, most_cores));
  return place;
}

StartTerms terms_from_json(const Json& json) {
  return {.run = short_text(json, "run"),
          .resume_step = whole_number_64(json, "resume_step", StartTerms::from_the_named, most_counted),
          .began_at_ms = whole_number_64(json, "began_at_ms", 0, most_counted),
          .ends_at = whole_number_64(json, "ends_at", 0, most_counted)};
}

}  // namespace

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
  json["master_port"] = start.master_port;
  json["threads_per_rank"] = start.threads_per_rank;
  json["terms"] = {{"run", start.terms.run},
                   {"resume_step", start.terms.resume_step},
                   {"began_at_ms", start.terms.began_at_ms},
                   {"ends_at", start.terms.ends_at}};
  json["command_hash"] = start.command_hash;
  json["store_nonce"] = start.store_nonce;
  return json;
}

GroupStart group_start_from_json(const Json& json) {
  GroupStart start;
  start.generation = whole_number_64(json, "generation", 0, most_counted);
  start.world_size = whole_number(json, "world_size", 1, most_ranks);
  start.local_count = whole_number(json, "local_count", 0, start.world_size);
  const auto& places = json.at("ranks");
  if (!places.is_array() || places.size() > static_cast<size_t>(start.world_size))
    fail(Exit::rank_lost, "a start of more ranks than there are");
  for (const auto& place : places) start.ranks.push_back(process_from_json(place, start.world_size));
  start.master_port = whole_number(json, "master_port", 0, most_port);
  start.threads_per_rank = whole_number(json, "threads_per_rank", 1, most_threads);
  start.terms = terms_from_json(json.at("terms"));
  start.command_hash = hex_digits(json, "command_hash", hash_digits);
  start.store_nonce = hex_digits(json, "store_nonce", nonce_digits);
  return start;
}

std::optional<RunKey> store_key_of(const RunKey& key, const std::string& store_nonce) {
  if (store_nonce.empty()) return std::nullopt;
  return key.derived(text("the store of ", store_nonce));
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
  ending.rank = whole_number(json, "rank", 0, most_ranks);
  ending.ranks = whole_number(json, "ranks", 1, most_ranks);
  ending.ending.status = whole_number(json, "status", 0, 255);
  ending.ending.signal = whole_number(json, "signal", 0, 127);
  ending.lost = json.at("lost").get<bool>();
  ending.phase = static_cast<Phase>(whole_number(json, "phase", 0, static_cast<int>(phase_count) - 1));
  ending.step = whole_number_64(json, "step", 0, most_counted);
  ending.evidence = short_text(json, "evidence", most_words);
  ending.last_lines = short_text(json, "last_lines", most_words);
  return ending;
}

}  // namespace larmor
