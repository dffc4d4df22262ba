#include "larmor/launch/environment.h"

#include <charconv>
#include <limits>

#include <unistd.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/net/socket.h"

namespace larmor {

Environment process_environment() {
  Environment all;
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string_view line = *entry;
    const size_t equals = line.find('=');
    if (equals != std::string_view::npos) all.emplace(line.substr(0, equals), line.substr(equals + 1));
  }
  return all;
}

const std::string* find_variable(const Environment& environment, std::string_view name) {
  const auto found = environment.find(std::string(name));
  return found == environment.end() ? nullptr : &found->second;
}

int64_t read_number(const Environment& environment, std::string_view name, int64_t least, int64_t most) {
  const std::string& value = *find_variable(environment, name);
  int64_t number = 0;
  const char* end = value.data() + value.size();
  const auto [stop, problem] = std::from_chars(value.data(), end, number);
  if (problem != std::errc() || stop != end || number < least || number > most) {
    fail(Exit::usage,
         text("the environment says ", name, "=\"", value, "\"; it must be a whole number from ", least,
              " to ", most),
         "let the launcher set it, or unset it");
  }
  return number;
}

int64_t read_number_or(const Environment& environment, std::string_view name, int64_t otherwise) {
  if (!find_variable(environment, name)) return otherwise;
  return read_number(environment, name, 0, std::numeric_limits<int>::max());
}

bool read_flag(const Environment& environment, std::string_view name) {
  const std::string* value = find_variable(environment, name);
  if (!value) return false;
  const std::string word = lower(*value);
  if (word == "true" || word == "1") return true;
  if (word == "false" || word == "0" || word.empty()) return false;
  fail(Exit::usage, text("the environment says ", name, "=\"", *value, "\"; it must be True or False"),
       "let the launcher set it, or unset it");
}

HostAndPort stated_master_or(const Environment& environment, HostAndPort made, bool several_hosts) {
  if (find_variable(environment, "MASTER_PORT"))
    made.port = static_cast<int>(read_number(environment, "MASTER_PORT", 1, 65535));
  const auto* host = find_variable(environment, "MASTER_ADDR");
  if (!host) return made;
  if (host->empty() || (is_loopback(*host) && several_hosts)) {
    fail(Exit::usage,
         text("the environment says MASTER_ADDR=\"", *host, "\", ",
              host->empty() ? "which is no address" : "but the ranks are on several hosts"),
         "set it to the host of rank 0, or unset it");
  }
  made.host = *host;
  return made;
}

int port_of_job(std::string_view job) {
  constexpr int lowest = 20000, count = 10000;
  uint32_t hash = 2166136261U;  // FNV-1a: the same on every host, whatever its build
  for (const char letter : job) hash = (hash ^ static_cast<unsigned char>(letter)) * 16777619U;
  return lowest + static_cast<int>(hash % count);
}

}  // namespace larmor
