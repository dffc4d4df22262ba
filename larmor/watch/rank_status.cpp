#include "larmor/watch/rank_status.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor {
namespace {

constexpr std::string_view phase_words[] = {"starting",   "waiting for data", "computing", "communicating",
                                            "validating", "saving",           "finished"};
static_assert(std::size(phase_words) == phase_count);
constexpr std::string_view kind_words[] = {"all_reduce", "reduce_scatter", "all_gather",
                                           "broadcast",  "barrier",        "duplicate"};
constexpr std::string_view element_words[] = {"",      "bool",    "uint8",    "int8",    "int16",   "int32",
                                              "int64", "float16", "bfloat16", "float32", "float64", "other"};

// No duration of a run comes near to it, and no count of a rank's is larger than a double can hold.
constexpr double most_seconds = 1e10;
constexpr int64_t most_counted = int64_t{1} << 52;

template <size_t count>
std::string_view word_of(const std::string_view (&words)[count], size_t value) {
  return value < count ? words[value] : "unknown";
}

[[noreturn]] void refuse_status(const char* member) {
  fail(Exit::rank_lost, text("the status of a rank came with a wrong \"", member, "\""),
       "both hosts have to run the same build");
}

const Json& member_of(const Json& json, const char* name) {
  if (!json.is_object()) refuse_status(name);
  const auto found = json.find(name);
  if (found == json.end()) refuse_status(name);
  return *found;
}

double seconds_from(const Json& json, const char* name) {
  if (!json.is_number()) refuse_status(name);
  const auto seconds = json.get<double>();
  if (!(seconds >= 0 && seconds <= most_seconds)) refuse_status(name);
  return seconds;
}

int64_t count_from(const Json& json, const char* name) {
  if (!json.is_number_integer()) refuse_status(name);
  const auto count = json.get<int64_t>();
  if (count < 0 || count > most_counted) refuse_status(name);
  return count;
}

template <class Value, size_t count>
Value word_from(const Json& json, const char* name, const std::string_view (&words)[count]) {
  if (!json.is_string()) refuse_status(name);
  const auto found = std::find(std::begin(words), std::end(words), json.get<std::string>());
  if (found == std::end(words)) refuse_status(name);
  return static_cast<Value>(found - std::begin(words));
}

PerPhase per_phase_from(const Json& json, const char* name) {
  if (!json.is_array() || json.size() != phase_count) refuse_status(name);
  PerPhase values{};
  for (size_t i = 0; i < phase_count; ++i) values[i] = seconds_from(json[i], name);
  return values;
}

Json to_json(const Collective& collective) {
  return Json::array({collective.group, collective.number, to_text(collective.kind), collective.elements,
                      to_text(collective.element), collective.finished});
}

Collective collective_from(const Json& json, const char* name) {
  if (!json.is_array() || json.size() != 6 || !json[5].is_boolean()) refuse_status(name);
  const int64_t group = count_from(json[0], name);
  if (group > 1'000'000) refuse_status(name);
  return {.group = static_cast<int>(group),
          .number = count_from(json[1], name),
          .kind = word_from<CollectiveKind>(json[2], name, kind_words),
          .elements = count_from(json[3], name),
          .element = word_from<ElementKind>(json[4], name, element_words),
          .finished = json[5].get<bool>()};
}

/// 1048576 as "1,048,576".
std::string with_commas(int64_t number) {
  std::string digits = text(number);
  for (auto place = std::ssize(digits) - 3; place > 0; place -= 3)
    digits.insert(static_cast<size_t>(place), ",");
  return digits;
}

}  // namespace

std::string_view to_text(Phase phase) { return word_of(phase_words, static_cast<size_t>(phase)); }
std::string_view to_text(CollectiveKind kind) { return word_of(kind_words, static_cast<size_t>(kind)); }
std::string_view to_text(ElementKind kind) { return word_of(element_words, static_cast<size_t>(kind)); }

std::string while_in(Phase phase, int64_t step) {
  switch (phase) {
    case Phase::starting:
      return "while starting";
    case Phase::waiting_for_data:
      return text("while waiting for the data of step ", step);
    case Phase::computing:
      return text("while computing step ", step);
    case Phase::communicating:
      return text("while communicating in step ", step);
    case Phase::validating:
      return text("while validating after step ", step);
    case Phase::saving:
      return text("while saving step ", step);
    case Phase::finished:
      return text("after it had finished step ", step);
  }
  return "";
}

std::string to_text(const Collective& collective) {
  std::string words = text(to_text(collective.kind), " #", collective.number);
  if (collective.element != ElementKind::none)
    words += text(" (", with_commas(collective.elements), " ", to_text(collective.element), ")");
  if (collective.group != 0) words += text(" of group ", collective.group);
  return words;
}

Json to_json(const RankStatus& status, bool with_collectives) {
  Json json;
  json["phase"] = to_text(status.phase);
  json["step"] = status.step;
  json["quiet"] = status.quiet;
  json["waiting"] = status.waiting;
  json["background_waiting"] = status.background_waiting;
  json["waits_for"] = status.waits_for ? to_json(*status.waits_for) : Json();
  json["longest_quiet"] = status.longest_quiet;
  json["seconds"] = status.seconds;
  json["waited"] = status.waited;
  json["longest_wait"] = status.longest_wait;
  if (with_collectives) {
    json["collectives"] = Json::array();
    for (const Collective& collective : status.collectives)
      json["collectives"].push_back(to_json(collective));
  }
  return json;
}

RankStatus rank_status_from_json(const Json& json) {
  RankStatus status;
  status.phase = word_from<Phase>(member_of(json, "phase"), "phase", phase_words);
  status.step = count_from(member_of(json, "step"), "step");
  status.quiet = seconds_from(member_of(json, "quiet"), "quiet");
  status.waiting = seconds_from(member_of(json, "waiting"), "waiting");
  status.background_waiting = seconds_from(member_of(json, "background_waiting"), "background_waiting");
  if (const Json& waits_for = member_of(json, "waits_for"); !waits_for.is_null())
    status.waits_for = collective_from(waits_for, "waits_for");
  status.longest_quiet = per_phase_from(member_of(json, "longest_quiet"), "longest_quiet");
  status.seconds = per_phase_from(member_of(json, "seconds"), "seconds");
  status.waited = seconds_from(member_of(json, "waited"), "waited");
  status.longest_wait = seconds_from(member_of(json, "longest_wait"), "longest_wait");
  if (const auto found = json.find("collectives"); found != json.end()) {
    if (!found->is_array() || found->size() > most_collectives) refuse_status("collectives");
    for (const Json& collective : *found)
      status.collectives.push_back(collective_from(collective, "collectives"));
  }
  return status;
}

}  // namespace larmor
