#include "larmor/hardware/kernel_file.h"

#include <charconv>
#include <fstream>
#include <sstream>

#include "larmor/base/text.h"

namespace larmor {

std::optional<std::string> read_kernel_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::ostringstream content;
  content << file.rdbuf();
  if (file.bad()) return std::nullopt;
  return content.str();
}

std::optional<int64_t> whole_number(std::string_view word) {
  word = trim(word);
  int64_t number = 0;
  const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (problem != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return number;
}

std::string_view table_value(std::string_view table, std::string_view key) {
  while (!table.empty()) {
    const size_t end = table.find('\n');
    const std::string_view line = table.substr(0, end);
    const size_t colon = line.find(':');
    if (colon != std::string_view::npos && trim(line.substr(0, colon)) == key)
      return trim(line.substr(colon + 1));
    if (end == std::string_view::npos) break;
    table.remove_prefix(end + 1);
  }
  return {};
}

}  // namespace larmor
