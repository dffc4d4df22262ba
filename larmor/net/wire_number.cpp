#include "larmor/net/wire_number.h"

#include <charconv>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor {
namespace {

[[noreturn]] void refuse(const std::string& what) {
  fail(Exit::rank_lost, text("a message came with a wrong \"", what, "\""),
       "all hosts have to run the same build");
}

const Json& member_of(const Json& json, const char* name) {
  if (!json.is_object()) refuse(name);
  const auto found = json.find(name);
  if (found == json.end()) refuse(name);
  return *found;
}

}  // namespace

int64_t whole_number_64(const Json& json, const char* name, int64_t least, int64_t most) {
  const auto& member = member_of(json, name);
  if (!member.is_number_integer()) refuse(name);
  // What is above the largest int64_t is kept as unsigned.
  if (member.is_number_unsigned() && member.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX)) refuse(name);
  const auto number = member.get<int64_t>();
  if (number < least || number > most) refuse(name);
  return number;
}

std::string short_text(const Json& json, const char* name, size_t most_bytes) {
  const auto& member = member_of(json, name);
  if (!member.is_string()) refuse(name);
  auto words = member.get<std::string>();
  if (words.size() > most_bytes) refuse(name);
  return words;
}

int number_from_key(const std::string& key, int least, int most) {
  int number = 0;
  const auto [end, problem] = std::from_chars(key.data(), key.data() + key.size(), number);
  if (problem != std::errc() || end != key.data() + key.size() || number < least || number > most)
    refuse("number");
  return number;
}

}  // namespace larmor
