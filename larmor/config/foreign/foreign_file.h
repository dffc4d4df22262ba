// The configuration files of other programs: of which kind one is, and what it says in our keys.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "larmor/config/foreign/deepspeed.h"
#include "larmor/config/guide_file.h"

namespace larmor {

/// Nothing where the file is ours. `guide_files` and `stages` are those of the workload.
std::optional<Translation> translate_foreign_file(std::string_view content, const Node& root,
                                                  const GuideFiles& guide_files,
                                                  const std::vector<std::string>& stages, Problems& problems);

}  // namespace larmor
