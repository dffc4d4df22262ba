// Words and numbers as people read them. Ours instead of fmt, because libtorch brings an fmt of its own
// and one translation unit can hold only one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace larmor {

namespace detail {
void append(std::string& out, std::string_view text);
void append(std::string& out, int64_t number);
void append(std::string& out, uint64_t number);
void append(std::string& out, double number);  // shortest text that reads back to the same number
inline void append(std::string& out, const char* text) { append(out, std::string_view(text)); }
inline void append(std::string& out, const std::string& text) { append(out, std::string_view(text)); }
inline void append(std::string& out, char letter) { out.push_back(letter); }
inline void append(std::string& out, bool value) { append(out, value ? "true" : "false"); }
template <class Integer>
  requires(std::is_integral_v<Integer> && std::is_signed_v<Integer> && !std::is_same_v<Integer, int64_t>)
void append(std::string& out, Integer number) {
  append(out, static_cast<int64_t>(number));
}
template <class Integer>
  requires(std::is_integral_v<Integer> && std::is_unsigned_v<Integer> && !std::is_same_v<Integer, uint64_t>)
void append(std::string& out, Integer number) {
  append(out, static_cast<uint64_t>(number));
}
}  // namespace detail

/// The parts one after the other: text("read ", n, " of ", path).
template <class... Parts>
std::string text(const Parts&... parts) {
  std::string out;
  (detail::append(out, parts), ...);
  return out;
}

std::string fixed(double number, int digits);
std::string join(std::span<const std::string> words, std::string_view between);
std::vector<std::string> split(std::string_view line, char separator);
std::string_view trim(std::string_view line);
std::string lower(std::string_view word);

/// "1.5 GiB", "300 B": at most three significant digits.
std::string human_bytes(uint64_t bytes);
/// "1 h 05 min", "12.3 s", "45 ms".
std::string human_seconds(double seconds);

/// The member of `words` nearest to `word` by edit distance, or "" when none is near enough to be a typo.
std::string nearest(std::string_view word, std::span<const std::string> words);

/// Whether a file name fits a shell pattern with `*` and `?`, which do not match `/`, and `**`, which does.
/// A pattern without `/` is held against the last component of `path` only.
bool matches_glob(std::string_view path, std::string_view pattern);

}  // namespace larmor
