// How large an example is: what the declared transforms leave of a volume (TransformChain::size_after), of
// those that the program makes, and of files by their headers.
#pragma once

#include <cstdint>
#include <vector>

#include "larmor/config/run_config.h"
#include "larmor/data/index/index.h"
#include "larmor/transforms/extent.h"

namespace larmor {

/// The extent of the phantoms that the config asks for; nothing is known where it asks for other data.
Extent extent_of_phantoms(const DataConfig& data);

/// Voxels an axis of a training example, as far as the config says it. `made`: the extent of the volumes that
/// the program makes. 64 along an axis of which the config says nothing.
std::vector<int64_t> configured_size(const RunConfig& config, const Extent& made);

/// The same for the planner: where the config leaves an axis open and volumes are files, of the largest
/// training case by its header, rounded up to a multiple of `divisor`; the headers of the 16 with most bytes
/// are read. As configured_size() where none can be, or where a transform cuts by voxels. The log says what
/// was taken, and why.
std::vector<int64_t> size_of_example(const RunConfig& config, const Index& index, const Extent& made,
                                     int64_t divisor = 1);

/// Voxels an axis of the case of the validation split that has most bytes, by its header, with no crop of
/// training. 64 an axis where no header can be read.
std::vector<int64_t> largest_case(const RunConfig& config, const Index& index, const Extent& made);

}  // namespace larmor
