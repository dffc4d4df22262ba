// What the planner asks of files, by their headers: how large an example is where no crop says it, and a
// whole case in validation; and what judging one holds in memory.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "larmor/config/run_config.h"
#include "larmor/data/index/index.h"
#include "larmor/plan/plan.h"
#include "larmor/task/task.h"

namespace larmor {

/// Voxels an axis of the case of the validation split that has most bytes, from the header of its image and
/// the transforms that set a size or a spacing; what they cut besides is not known before. 64 an axis where
/// no header can be read.
std::vector<int64_t> largest_case(const RunConfig& config, const Index& index);

/// Voxels an axis of a training example: `configured` where a crop gives every axis its size, or volumes are
/// no files. Otherwise of the largest training case, as in largest_case() and rounded up to a multiple of
/// `divisor`; the headers of the 16 with most bytes are read. `configured`, too, where none can be, or where
/// a transform cuts by voxels. The log says what was taken, and why.
std::vector<int64_t> size_of_example(const RunConfig& config, const Index& index,
                                     const std::vector<int64_t>& configured, int64_t divisor = 1);

/// Fills demand.validation_…_bytes from a pass of `judge`, which is what the task does with images [1,
/// channels, D, H, W] of whole cases, on the meta device. Moves the task's networks there. A pass that looks
/// at values is not counted, and the log says so.
void count_validation(Task& task, int64_t channels, const std::vector<int64_t>& case_size,
                      const ValidationConfig& validation,
                      const std::function<void(const at::Tensor& images)>& judge, Demand& demand);

/// The same from `sample`, which is what the task does on the meta device for an image that it samples for a
/// picture while a run trains.
void count_sampling(Task& task, const std::function<void()>& sample, Demand& demand);

}  // namespace larmor
