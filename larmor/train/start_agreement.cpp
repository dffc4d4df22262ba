#include "larmor/train/start_agreement.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "larmor/base/error.h"
#include "larmor/base/hash.h"
#include "larmor/base/json.h"
#include "larmor/base/process/process.h"
#include "larmor/base/text.h"
#include "larmor/base/version.h"
#include "larmor/device/device.h"

namespace larmor {
namespace {

constexpr size_t most_named = 4;
constexpr const char* kernels_key = "CPU capability";

/// "plan.memory.total" -> "123" for every value that is no list or object.
void flatten(const Json& json, const std::string& key, std::map<std::string, std::string>& values) {
  if (!json.is_structured() || json.empty()) {
    values[key] = json.is_string() ? json.get<std::string>() : json.dump();
    return;
  }
  for (const auto& [name, value] : json.items()) flatten(value, text(key, ".", name), values);
}

Json json_of(const StartFacts& facts) {
  Json json;
  json["host"] = facts.host;
  json["data"] = facts.data_complaint;
  json["room"] = facts.lacks_room;
  json["values"] = Json(facts.values);
  return json;
}

StartFacts facts_from(const std::string& bytes) {
  const auto json = parse_json(bytes, "a rank's facts");
  return {.host = json.at("host").get<std::string>(),
          .values = json.at("values").get<std::map<std::string, std::string>>(),
          .data_complaint = json.at("data").get<std::string>(),
          .lacks_room = json.at("room").get<std::string>()};
}

/// "rank 2 on node7"; of many the first ones.
std::string name_ranks(const std::vector<size_t>& ranks, const std::vector<StartFacts>& all) {
  std::vector<std::string> names;
  for (const size_t rank : ranks) {
    if (names.size() < most_named) names.push_back(text("rank ", rank, " on ", all[rank].host));
  }
  const auto more = ranks.size() - names.size();
  return text(join(names, ", "), more > 0 ? text(" and ", more, " more") : "");
}

std::string value_in(const StartFacts& facts, const std::string& key) {
  const auto found = facts.values.find(key);
  return found == facts.values.end() ? "none" : found->second;
}

/// One sentence a key and value that rank 0 does not have.
std::vector<std::string> differences(const std::vector<StartFacts>& all) {
  std::set<std::string> keys;
  for (const auto& facts : all) {
    for (const auto& [key, value] : facts.values) keys.insert(key);
  }
  std::vector<std::string> sentences;
  for (const auto& key : keys) {
    const std::string first = value_in(all[0], key);
    std::map<std::string, std::vector<size_t>> others;
    for (size_t rank = 1; rank < all.size(); ++rank) {
      if (const auto value = value_in(all[rank], key); value != first) others[value].push_back(rank);
    }
    for (const auto& [value, ranks] : others) {
      sentences.push_back(text(name_ranks(ranks, all), ranks.size() == 1 ? " has " : " have ", key, " ",
                               value, ", rank 0 has ", first));
    }
  }
  return sentences;
}

std::string some_of(std::vector<std::string> sentences) {
  const auto count = sentences.size();
  if (count > most_named) {
    sentences.resize(most_named);
    sentences.push_back(text("and ", count - most_named, " more"));
  }
  return join(sentences, "; ");
}

/// "rank 1 on node2 has no a.nii" of each rank that has a complaint.
std::vector<std::string> complaints(const std::vector<StartFacts>& all, std::string StartFacts::* complaint,
                                    const char* between) {
  std::vector<std::string> sentences;
  for (size_t rank = 0; rank < all.size(); ++rank) {
    if (const auto& words = all[rank].*complaint; !words.empty())
      sentences.push_back(text(name_ranks({rank}, all), between, words));
  }
  return sentences;
}

[[noreturn]] void refuse_start(const std::vector<StartFacts>& all) {
  if (const auto sentences = differences(all); !sentences.empty()) {
    const bool only_kernels = std::all_of(sentences.begin(), sentences.end(), [](const auto& sentence) {
      return sentence.find(kernels_key) != std::string::npos;
    });
    fail(Exit::usage, text("the ranks do not agree: ", some_of(sentences)),
         only_kernels ? "set ATEN_CPU_CAPABILITY=avx2, or =default, on every host"
                      : "start every rank with the same program, the same config and the same run folder");
  }
  if (const auto blind = complaints(all, &StartFacts::data_complaint, " "); !blind.empty()) {
    fail(Exit::data, text("not every host sees the data of the run: ", some_of(blind)),
         "put the same files under data.folder on every host, or on a file system that all share");
  }
  fail(Exit::environment,
       text("not every host has room for what it will keep: ",
            some_of(complaints(all, &StartFacts::lacks_room, ": "))),
       "make room on these hosts; --no-check goes on all the same");
}

}  // namespace

StartFacts start_facts(const LoadedConfig& config, const Plan& plan, const Index& index) {
  StartFacts facts;
  facts.host = host_name();
  for (const auto& origin : config.origins) {
    if (origin.key != "run.folder" && origin.key != "run.name")
      facts.values["config." + origin.key] = origin.value;
  }
  facts.values["config.workload"] = config.config.workload;
  facts.values["config.stage"] = config.config.stage;
  auto decided = to_json(plan);
  decided.erase("reasons");
  flatten(decided, "plan", facts.values);
  facts.values["index"] = index.sha256();
  facts.values["program"] = program_name();
  facts.values["build"] = program_build();
  // Each rank moves its own copy of the weights: with other kernels the copies would drift apart.
  if (plan.device == DeviceKind::cpu) facts.values[kernels_key] = cpu_capability();
  return facts;
}

std::string compare_data(const Index& agreed, const std::function<Index()>& make) {
  Index seen;
  try {
    seen = make();
  } catch (const Error& error) {
    return text("finds none: ", error.message());
  }
  if (seen.sha256() == agreed.sha256()) return "";
  std::map<std::string, const Case*> by_name;
  for (const auto& one : seen.cases) by_name[one.name()] = &one;
  size_t missing = 0, different = 0;
  std::string first_missing, first_different;
  for (const auto& one : agreed.cases) {
    const auto found = by_name.find(one.name());
    if (found == by_name.end()) {
      if (missing++ == 0) first_missing = one.name();
    } else if (!(*found->second == one)) {
      if (different++ == 0) first_different = one.name();
    }
  }
  const auto more = [](size_t count) {
    return count > 1 ? text(" and ", count - 1, " more") : std::string();
  };
  if (missing > 0) return text("has no ", first_missing, more(missing));
  if (different > 0)
    return text("has another ", first_different, more(different), ": of another size or split");
  return text("has ", seen.cases.size(), " cases, and the run ", agreed.cases.size());
}

bool looks_for_host(const Rank& rank) {
  return rank.index != 0 && rank.local_index == 0 && rank.local_count < rank.count;
}

void agree_on_start(const StartFacts& facts, Communicator& communicator) {
  // All facts travel only where something is wrong: there are as many hashes as ranks, on every rank.
  const auto own =
      json_of({.host = "", .values = facts.values, .data_complaint = "", .lacks_room = ""}).dump();
  const bool is_content = facts.data_complaint.empty() && facts.lacks_room.empty();
  const auto hashes = all_gather_bytes(communicator, text(sha256(own), is_content ? "" : " incomplete"));
  const bool are_same =
      std::all_of(hashes.begin(), hashes.end(), [&](const auto& hash) { return hash == hashes[0]; });
  if (are_same && !hashes[0].ends_with("incomplete")) return;
  std::vector<StartFacts> all;
  const auto bytes = json_of(facts).dump(-1, ' ', false, Json::error_handler_t::replace);
  for (const auto& one : all_gather_bytes(communicator, bytes)) all.push_back(facts_from(one));
  refuse_start(all);
}

}  // namespace larmor
