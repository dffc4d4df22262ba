// What a bare word of a config means: true, 8, 1.0e-4, or just a word. Stricter than YAML readers, which
// disagree: 010 is neither 8 nor 10, and what is not finite is no number.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "larmor/base/json.h"
#include "larmor/config/source.h"

namespace larmor {

std::optional<bool> as_boolean(std::string_view word);
std::optional<int64_t> as_integer(std::string_view word);
std::optional<double> as_number(std::string_view word);

/// Any value, kept as it is. Nothing when a number in it is infinite, too large, or not a number.
std::optional<Json> as_json(const Node& node);

}  // namespace larmor
