// A cascade of a few voxels, with weights that say something, and pairs for it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <c10/core/Device.h>

#include "larmor/device/draw_position.h"
#include "larmor/task/task.h"

#include "workloads/xray_to_ct/stage/cascade_task.h"

namespace larmor::xray_to_ct {

/// Volumes of 8 voxels an edge in the first stage and 16 in the others, radiographs of 16 pixels.
CascadeConfig small_config(int64_t stage);
std::unique_ptr<CascadeTask> task_of(const CascadeConfig& config, c10::Device device = c10::kCPU,
                                     CascadeTask::MeanVolume mean = {});
/// A pair as the data have them: a box in a box, and its radiographs.
Batch batch_of(const CascadeConfig& config, int64_t rows);
DrawPosition draws_for(std::vector<int64_t> examples);

}  // namespace larmor::xray_to_ct
