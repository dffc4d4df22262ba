// The cases of a split, parted by what a column says of them.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "larmor/task/case_columns.h"

namespace larmor {

struct CaseGroup {
  std::string by, name;  // the column, and what it says of these cases: "sex", "f"; "age", "above 41 to 55"
  std::set<int64_t> examples;
};
using CaseGroups = std::vector<CaseGroup>;

/// More groups than these are none that a person compares.
constexpr int64_t most_groups = 50;

/// A group for each word, or for each number where there are at most ten of them; more numbers are cut at
/// their quartiles, equal ones staying together. Numbers may be written as words. Ascending, and last those
/// of which the column says nothing. Throws Error (usage): words that would make more than most_groups.
CaseGroups groups_by(const CaseColumn& column, std::span<const int64_t> examples);

/// Refuses (Error, usage) a name that no column has, naming those that there are, and a column with a fault.
const CaseColumn& column_to_part_by(const CaseColumns& columns, const std::string& name);

/// What of the values is of the group's cases.
CaseValues values_of_group(const CaseValues& values, const CaseGroup& group);

}  // namespace larmor
