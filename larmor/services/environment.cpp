#include "larmor/services/environment.h"

#include <cstdlib>
#include <fstream>

#include "larmor/base/text.h"

namespace larmor {

std::string variable(const char* name) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing sets variables
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

std::string value_at_home(const std::filesystem::path& file, const std::string& section,
                          const std::string& name) {
  const auto home = variable("HOME");
  if (home.empty()) return {};
  std::ifstream stream(home / file);
  bool is_within = false;
  for (std::string line; std::getline(stream, line);) {
    const auto words = trim(line);
    if (words.starts_with('[')) is_within = words == text('[', section, ']');
    const auto equals = words.find('=');
    if (is_within && equals != std::string_view::npos && trim(words.substr(0, equals)) == name)
      return std::string(trim(words.substr(equals + 1)));
  }
  return {};
}

}  // namespace larmor
