// Values of cases as ranks send them to each other: numbers as they lie in memory.
#pragma once

#include <string>
#include <string_view>

#include "larmor/base/json.h"
#include "larmor/task/metrics.h"

namespace larmor {

/// Examples and values, each name's one after the other; how many they are is appended to `counts`.
void append_values(std::string& bytes, Json& counts, const CaseValues& all);
/// Takes them off the front of `bytes`, behind what `all` holds of their names. Throws where bytes are
/// missing.
void take_values(std::string_view& bytes, const Json& counts, CaseValues& all);

}  // namespace larmor
