// A part of a dataset: as many of its examples as are wanted, evenly spread.
#pragma once

#include <cstdint>
#include <memory>

#include "larmor/data/dataset.h"

namespace larmor {

/// `count` 0: all. Example k of the result is example k * size / count of `all`.
std::unique_ptr<Dataset> some_cases(std::unique_ptr<Dataset> all, int64_t count);

}  // namespace larmor
