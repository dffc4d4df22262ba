// Values as YAML flow text that this reader and every other YAML reader takes for the same value.
#pragma once

#include <string>
#include <string_view>

#include "larmor/base/json.h"

namespace larmor {

/// Bare where that is safe, otherwise in double quotes with JSON's escapes.
std::string yaml_word(std::string_view word);
/// The number with a decimal point, so that no reader takes it for a whole number or a word: 1.0, 1.0e-04.
std::string yaml_number(double number);
/// One line: {a: 1, b: [x, y]}.
std::string yaml_flow(const Json& value);

}  // namespace larmor
