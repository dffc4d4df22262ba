// Whether a run's data will do, asked before any rank starts.
#pragma once

#include <vector>

#include "larmor/config/run_config.h"
#include "larmor/data/index/index.h"

namespace larmor {

/// The cases that cannot be used, each with the reason: no more than data.bad_files allows. Throws Error
/// (data): every file that cannot be used, all of them listed, where they are too many (are_too_many()); a
/// split that training needs and that has no case of use. Reads the beginnings and ends of all files. Blocks.
std::vector<BadFile> check_data(const Index& index, const RunConfig& config);

}  // namespace larmor
