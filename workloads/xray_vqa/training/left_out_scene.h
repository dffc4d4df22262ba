// Doing without the scene of a study: what `predict` has before it where nobody gives it objects.
#pragma once

#include <ATen/core/Tensor.h>

#include "workloads/xray_vqa/network/vqa_network.h"

namespace larmor::xray_vqa {

/// The inputs as of studies of which nothing is known but the picture: the one object of each is the whole
/// image, of no region and no entity.
VqaInputs without_scene(const VqaInputs& inputs);
/// [N] bool: whether more is known of a row than without_scene() leaves.
at::Tensor has_scene(const VqaInputs& inputs);
/// The inputs without the scenes of about `share` of the rows, which are drawn for each example: the same
/// whatever the ranks and micro-batches. Requires: a DrawScope where the share is above 0.
VqaInputs with_scenes_left_out(const VqaInputs& inputs, double share);

}  // namespace larmor::xray_vqa
