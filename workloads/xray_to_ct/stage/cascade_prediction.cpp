// What `predict` makes of one or two radiographs.
#include <vector>

#include <ATen/ATen.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/kernels/projector/projector.h"
#include "larmor/task/prediction.h"

#include "workloads/xray_to_ct/data/pair_dataset.h"
#include "workloads/xray_to_ct/data/radiograph_file.h"
#include "workloads/xray_to_ct/stage/cascade_task.h"
#include "workloads/xray_to_ct/stage/volume_figures.h"

namespace larmor::xray_to_ct {

Prediction CascadeTask::predict(const Batch& inputs, const PredictionContext& context) {
  const int64_t pixels = config_.pairs.radiograph_size;
  std::vector<at::Tensor> views;
  for (const std::string& name : config_.views) {
    const auto found = inputs.tensors.find(name);
    if (found == inputs.tensors.end())
      fail(Exit::usage,
           text("the view ", name, " is missing, and this model takes ", join(config_.views, " and ")),
           text("give it with --input ", name, "=FILE, or train with model.views=[pa]"));
    views.push_back(
        fitted_radiograph(radiograph_of(found->second[0].cpu()), pixels, config_.pairs.flip_vertical));
  }
  const at::Tensor xrays =
      at::stack(views).unsqueeze(0).to(context.device, context.type);  // [1, V, rows, columns]
  const at::Tensor sampled = sample({.xrays = xrays}, context.progress);
  const at::Tensor unit = at::tensor({1.0F, 0.0F}, xrays.options()).expand({1, xrays.size(1), 2});
  const at::Tensor seen =
      radiographs_of(sampled, own_rays(1, context.device), unit, pixels, pixels, config_.pairs).squeeze(2);
  return {.volumes = {{output_name,
                       {.voxels = hu_of_unit(sampled[0], config_.pairs).cpu(),
                        .affine = config_.pairs.positions(config_.network.volume_size)}}},
          .numbers = {{"reprojection_ncc", mean_correlation(seen[0], xrays[0])}}};
}

}  // namespace larmor::xray_to_ct
