#include "larmor/base/files/temporary_name.h"

#include <algorithm>
#include <string>

#include "larmor/base/random_bytes.h"
#include "larmor/base/text.h"

namespace larmor {
namespace {

constexpr std::string_view mark = ".partial-";
constexpr size_t digits = 16, longest_name = 255;

// A character of several bytes is kept whole or left out.
std::string_view beginning(std::string_view name, size_t most) {
  if (name.size() <= most) return name;
  const auto is_inside = [&](size_t place) {
    constexpr unsigned two_bits = 0xC0, of_later_bytes = 0x80;
    return (static_cast<unsigned char>(name[place]) & two_bits) == of_later_bytes;
  };
  while (most > 0 && is_inside(most)) --most;
  return name.substr(0, most);
}

}  // namespace

std::filesystem::path temporary_beside(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  const auto shown = beginning(name, longest_name - 1 - mark.size() - digits);
  return folder / text('.', shown, mark, random_name());
}

bool is_temporary_name(std::string_view name) {
  if (!name.starts_with('.') || name.size() < 1 + mark.size() + digits) return false;
  const auto number = name.substr(name.size() - digits);
  const bool is_number = number.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  return is_number && name.substr(0, name.size() - digits).ends_with(mark);
}

}  // namespace larmor
