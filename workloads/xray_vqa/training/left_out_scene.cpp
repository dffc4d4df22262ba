#include "workloads/xray_vqa/training/left_out_scene.h"

#include <ATen/ATen.h>

#include "larmor/kernels/draw/draw.h"

namespace larmor::xray_vqa {

VqaInputs without_scene(const VqaInputs& inputs) {
  VqaInputs plain = inputs;
  plain.boxes = at::zeros_like(inputs.boxes);
  plain.boxes.select(1, 0).slice(1, 2).fill_(1);  // x2 and y2 of the first
  plain.regions = at::zeros_like(inputs.regions);
  plain.entities = at::zeros_like(inputs.entities);
  plain.objects_mask = at::zeros_like(inputs.objects_mask);
  plain.objects_mask.select(1, 0).fill_(true);
  return plain;
}

at::Tensor has_scene(const VqaInputs& inputs) {
  const VqaInputs plain = without_scene(inputs);
  const auto differs = [](const at::Tensor& one, const at::Tensor& other) {
    return one.ne(other).flatten(1).any(1);
  };
  return differs(inputs.boxes, plain.boxes)
      .logical_or(differs(inputs.regions, plain.regions))
      .logical_or(differs(inputs.entities, plain.entities))
      .logical_or(differs(inputs.objects_mask, plain.objects_mask));
}

VqaInputs with_scenes_left_out(const VqaInputs& inputs, double share) {
  if (share == 0) return inputs;
  const VqaInputs plain = without_scene(inputs);
  const at::Tensor is_kept =
      draw_kept_like(inputs.objects_mask.select(1, 0).unsqueeze(1), 1 - share, "scene of a study");  // [N, 1]
  VqaInputs some = inputs;
  some.boxes = at::where(is_kept.unsqueeze(2), inputs.boxes, plain.boxes);
  some.regions = at::where(is_kept, inputs.regions, plain.regions);
  some.entities = at::where(is_kept, inputs.entities, plain.entities);
  some.objects_mask = at::where(is_kept, inputs.objects_mask, plain.objects_mask);
  return some;
}

}  // namespace larmor::xray_vqa
