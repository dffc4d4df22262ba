// Single values: from the words of a file to typed ones, and to the text that reads back to the same.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "larmor/base/json.h"
#include "larmor/config/tree.h"

namespace larmor {

/// Nothing when the node is not written as one.
std::optional<bool> as_bool(const Node& node);
std::optional<int64_t> as_integer(const Node& node);  // no leading zeros: 010 is not 8
std::optional<double> as_number(const Node& node);    // finite
std::optional<std::string> as_text(const Node& node);
bool is_auto(const Node& node);
Json as_json(const Node& node);

/// What a node is, for an error message: "the text 'abc'", "a list", "nothing".
std::string name_of(const Node& node);

/// YAML flow text.
std::string flow(bool value);
std::string flow(int64_t value);
std::string flow(double value);
std::string flow(const std::string& value);  // quoted when it would read as something else
std::string flow(const Json& value);

}  // namespace larmor
