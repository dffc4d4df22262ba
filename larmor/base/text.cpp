#include "larmor/base/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace larmor {
namespace {

template <class... Arguments>
void append_chars(std::string& out, Arguments... arguments) {
  // Room for the longest double in fixed notation with a sane number of digits.
  std::array<char, 400> digits;
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), arguments...);
  if (error == std::errc{}) out.append(digits.data(), end);
}

std::string with_unit(double number, std::string_view unit) {
  const int digits = number < 9.995 ? 2 : number < 99.95 ? 1 : 0;
  std::string shown = fixed(number, digits);
  if (digits > 0) {
    shown.erase(shown.find_last_not_of('0') + 1);
    if (shown.back() == '.') shown.pop_back();
  }
  return text(shown, ' ', unit);
}

std::string two_digits(int64_t number) { return text(number < 10 ? "0" : "", number); }

// Insertions, deletions, substitutions and swaps of neighbours; anything above `limit` comes back as limit
// + 1.
size_t edit_distance(std::string_view a, std::string_view b, size_t limit) {
  const size_t longer = std::max(a.size(), b.size());
  if (longer - std::min(a.size(), b.size()) > limit) return limit + 1;
  std::vector<size_t> before_last(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substitution = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, substitution});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last.swap(last);
    last.swap(row);
  }
  return std::min(last[b.size()], limit + 1);
}

// The positions of a path that some reading of the pattern so far can have come to. All readings are followed
// at once, so that no pattern takes exponential time.
class GlobMatch {
 public:
  explicit GlobMatch(std::string_view path) : path_(path), reached_(path.size() + 1, false) {
    reached_[0] = true;
  }

  void star(bool across_folders) {
    for (size_t i = 0; i < path_.size(); ++i) {
      if (reached_[i] && (across_folders || path_[i] != '/')) reached_[i + 1] = true;
    }
  }

  // Any number of whole folders, none included.
  void folders() {
    bool inside = false;
    for (size_t i = 0; i < path_.size(); ++i) {
      inside = inside || reached_[i];
      if (inside && path_[i] == '/') reached_[i + 1] = true;
    }
  }

  void letter(char wanted) {
    for (size_t i = path_.size(); i > 0; --i) {
      const char found = path_[i - 1];
      reached_[i] = reached_[i - 1] && (wanted == found || (wanted == '?' && found != '/'));
    }
    reached_[0] = false;
  }

  bool at_end() const { return reached_.back(); }

 private:
  std::string_view path_;
  std::vector<bool> reached_;
};

bool fits(std::string_view path, std::string_view pattern) {
  GlobMatch match(path);
  for (size_t i = 0; i < pattern.size();) {
    const std::string_view rest = pattern.substr(i);
    const bool opens_component = i == 0 || pattern[i - 1] == '/';
    if (opens_component && rest.starts_with("**/")) {
      match.folders();
      i += 3;
    } else if (rest.starts_with("**")) {
      match.star(true);
      i += 2;
    } else {
      if (rest.front() == '*') {
        match.star(false);
      } else {
        match.letter(rest.front());
      }
      ++i;
    }
  }
  return match.at_end();
}

}  // namespace

namespace detail {
void append(std::string& out, std::string_view text) { out.append(text); }
void append(std::string& out, int64_t number) { append_chars(out, number); }
void append(std::string& out, uint64_t number) { append_chars(out, number); }
void append(std::string& out, double number) { append_chars(out, number); }
}  // namespace detail

std::string fixed(double number, int digits) {
  std::string out;
  append_chars(out, number, std::chars_format::fixed, digits);
  return out;
}

std::string join(std::span<const std::string> words, std::string_view between) {
  std::string out;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) out.append(between);
    out.append(words[i]);
  }
  return out;
}

std::vector<std::string> split(std::string_view line, char separator) {
  std::vector<std::string> parts;
  for (size_t end = line.find(separator); end != std::string_view::npos; end = line.find(separator)) {
    parts.emplace_back(line.substr(0, end));
    line.remove_prefix(end + 1);
  }
  parts.emplace_back(line);
  return parts;
}

std::string_view trim(std::string_view line) {
  constexpr std::string_view blanks = " \t\r\n\v\f";
  const size_t first = line.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return line.substr(first, line.find_last_not_of(blanks) - first + 1);
}

std::string lower(std::string_view word) {
  std::string out(word);
  // Not std::tolower: names and keys must not depend on the person's locale.
  for (char& letter : out) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return out;
}

std::string human_bytes(uint64_t bytes) {
  constexpr std::array<std::string_view, 7> units = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1000) return text(bytes, " B");
  double number = static_cast<double>(bytes);
  size_t unit = 0;
  // 999.5 would be shown with four digits.
  while (number >= 999.5 && unit + 1 < units.size()) {
    number /= 1024;
    ++unit;
  }
  return with_unit(number, units[unit]);
}

std::string human_seconds(double seconds) {
  if (!std::isfinite(seconds)) return text(seconds, " s");
  if (seconds < 0) return text('-', human_seconds(-seconds));
  if (seconds == 0) return "0 s";
  if (seconds < 0.9995e-3) return with_unit(seconds * 1e6, "us");
  if (seconds < 0.9995) return with_unit(seconds * 1e3, "ms");
  if (seconds < 59.95) return with_unit(seconds, "s");
  if (seconds >= 9e15) return with_unit(seconds / 86400, "d");
  const int64_t whole = std::llround(seconds);
  if (whole < 3600) return text(whole / 60, " min ", two_digits(whole % 60), " s");
  const int64_t minutes = (whole + 30) / 60;
  if (minutes < 48 * 60) return text(minutes / 60, " h ", two_digits(minutes % 60), " min");
  const int64_t hours = (whole + 1800) / 3600;
  return text(hours / 24, " d ", two_digits(hours % 24), " h");
}

std::string nearest(std::string_view word, std::span<const std::string> words) {
  std::string best;
  size_t limit = std::max<size_t>(1, word.size() / 3);
  for (const std::string& candidate : words) {
    const size_t distance = edit_distance(lower(word), lower(candidate), limit);
    if (distance > limit) continue;
    best = candidate;
    if (distance == 0) break;
    limit = distance - 1;
  }
  return best;
}

bool matches_glob(std::string_view path, std::string_view pattern) {
  if (pattern.find('/') == std::string_view::npos) path.remove_prefix(path.rfind('/') + 1);
  return fits(path, pattern);
}

}  // namespace larmor
