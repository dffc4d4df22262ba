#include "larmor/config/fold.h"

#include <charconv>

namespace larmor {
namespace {

std::optional<int64_t> count_in(std::string_view word) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  const bool is_whole = error == std::errc() && end == word.data() + word.size();
  return is_whole ? std::optional(number) : std::nullopt;
}

}  // namespace

std::optional<Fold> fold_from_text(std::string_view written) {
  const std::size_t slash = written.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto number = count_in(written.substr(0, slash)), count = count_in(written.substr(slash + 1));
  if (!number || !count || *count < 2 || *number < 1 || *number > *count) return std::nullopt;
  return Fold{*number, *count};
}

}  // namespace larmor
