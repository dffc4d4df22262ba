// SLURM's short forms: names of hosts in brackets, and counts with a multiplier.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace larmor {

/// "n[01-03,07],gpu5" as n01 n02 n03 n07 gpu5; "a[1-2]b[3-4]" as a1b3 a1b4 a2b3 a2b4. Leading zeros are kept.
/// Throws Error (usage) for anything else, and for more than 65536 names.
std::vector<std::string> expand_host_list(std::string_view list);

/// "2(x3),1" as 2 2 2 1: tasks of each node. Throws Error (usage) for anything else, and for more than 65536.
std::vector<int64_t> expand_counts(std::string_view list);

}  // namespace larmor
