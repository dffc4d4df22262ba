// Values of messages from other processes, taken only where they are in their range.
#pragma once

#include <cstdint>
#include <string>

#include "larmor/base/json.h"

namespace larmor {

constexpr int most_ranks = 1 << 20;
/// What a double holds exactly: no count of a run comes near to it.
constexpr int64_t most_counted = int64_t{1} << 52;

/// The member of that name. Throws Error (rank_lost) naming it when it is no whole number from `least` to
/// `most`.
int64_t whole_number_64(const Json& json, const char* name, int64_t least, int64_t most);
inline int whole_number(const Json& json, const char* name, int least, int most) {
  return static_cast<int>(whole_number_64(json, name, least, most));
}

/// Throws Error (rank_lost) naming it when it is no text, or one of more bytes.
std::string short_text(const Json& json, const char* name, size_t most_bytes = 1024);

/// A key of a JSON object as a number. Throws Error (rank_lost) when it is none in that range.
int number_from_key(const std::string& key, int least, int most);

}  // namespace larmor
