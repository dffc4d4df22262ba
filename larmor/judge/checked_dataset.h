// A stage's examples, those that its task cannot take being as bad as those that cannot be read.
#pragma once

#include <memory>

#include "larmor/task/stage.h"

namespace larmor {

/// Stage::dataset(), whose get() asks Stage::check_example() and names the example that it refuses. Borrows
/// the stage.
std::unique_ptr<Dataset> checked_dataset(const Stage& stage, const RunConfig& config, const Index& index,
                                         Split split);

}  // namespace larmor
