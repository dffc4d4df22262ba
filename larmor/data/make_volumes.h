// Where volumes come from that no file holds.
#pragma once

#include <cstdint>
#include <functional>

#include "larmor/data/index/index.h"
#include "larmor/transforms/transforms.h"

namespace larmor {

/// The volumes of an invented case by name, an "image" at least; `number`: in the whole index. Thread-safe.
/// The same bits for the same case.
using MakeVolumes = std::function<Volumes(const Case& entry, int64_t number)>;

}  // namespace larmor
