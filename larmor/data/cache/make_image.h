// Where images come from that no file holds.
#pragma once

#include <cstdint>
#include <functional>

#include "larmor/data/index/index.h"
#include "larmor/formats/volume.h"

namespace larmor {

/// The image of an invented case; `number`: in the whole index. Thread-safe. The same bits for the same case.
using MakeImage = std::function<Volume(const Case& entry, int64_t number)>;

}  // namespace larmor
