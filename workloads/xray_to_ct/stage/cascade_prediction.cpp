// What a stage is judged by, and what `predict` makes of one or two radiographs.
#include <cmath>
#include <utility>

#include <ATen/ATen.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/kernels/projector.h"
#include "larmor/train/prediction.h"

#include "workloads/xray_to_ct/data/pair_dataset.h"
#include "workloads/xray_to_ct/data/radiograph_file.h"
#include "workloads/xray_to_ct/stage/cascade_task.h"
#include "workloads/xray_to_ct/stage/volume_figures.h"

namespace larmor::xray_to_ct {

void CascadeTask::judge(const Batch& batch, const Examples& examples, Metrics& metrics) {
  const bool is_full = metrics.depth() == ValidationDepth::full;
  if (is_full && make_mean_volume_ && !mean_volume_.defined()) mean_volume_ = make_mean_volume_();
  Given given{.xrays = examples.xrays, .rays = examples.rays, .intensity = examples.intensity, .earlier = {}};
  if (config_.follows_another()) given.earlier = batch.at(earlier_name);
  const at::Tensor sampled = sample(given);
  const at::Tensor seen = radiographs_of(sampled, examples.rays, examples.intensity, examples.xrays.size(2),
                                         examples.xrays.size(3), config_.pairs)
                              .squeeze(2);
  for (int64_t row = 0; row < batch.size(); ++row) {
    const int64_t example = batch.keys[static_cast<std::size_t>(row)].example;
    const at::Tensor volume = sampled[row][0], truth = unscaled(examples.volume[row][0]);
    if (metrics.wants_pictures() && example == 0) {
      metrics.picture("volume", stacked({planes_of(truth), planes_of(volume)}));
      metrics.picture("radiographs", stacked({views_of(examples.xrays[row]), views_of(seen[row])}));
    }
    if (!is_full) continue;
    metrics.value("psnr", example, volume_psnr(volume, truth));
    metrics.value("ssim", example, volume_ssim(volume, truth));
    const at::Tensor hu = hu_of_unit(volume, config_.pairs), true_hu = hu_of_unit(truth, config_.pairs);
    const at::Tensor error = (hu - true_hu).abs().masked_select(body_of(true_hu));
    metrics.value("mae_hu_body", example, error.mean().item<double>());
    metrics.value("reprojection_ncc", example, mean_correlation(seen[row], examples.xrays[row]));
    if (mean_volume_.defined())
      metrics.value("psnr_mean_volume", example, volume_psnr(mean_volume_[0].to(truth.device()), truth));
    if (config_.follows_another())
      metrics.value("psnr_upsampled", example,
                    volume_psnr(enlarged(given.earlier.narrow(0, row, 1))[0][0], truth));
  }
}

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
  const at::Tensor xrays = at::stack(views).unsqueeze(0).to(context.device);  // [1, V, rows, columns]
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
