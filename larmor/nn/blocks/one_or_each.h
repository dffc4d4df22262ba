// Numbers that a network takes for all of its levels or axes at once, or one for each.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "larmor/config/fields.h"

namespace larmor::nn {

/// Lists `values` as a field: one number for each of `count`, which is what MONAI's constructors take; a list
/// of one number, which they refuse, is read and holds for all.
inline void describe_one_or_each(Fields& f, const char* name, std::vector<int64_t>& values, std::size_t count,
                                 const char* help) {
  if (values.size() == 1) values.resize(count, values.front());
  f.field(name, values, help, at_least_one);
  if (values.empty() || values.size() != count) return;
  const bool are_equal = std::ranges::all_of(values, [&](int64_t value) { return value == values.front(); });
  if (are_equal) values.resize(1);
}

}  // namespace larmor::nn
