#include "workloads/xray_to_ct/stage/back_projection.h"

#include <vector>

#include <ATen/ATen.h>

#include "larmor/kernels/projector/projector.h"

namespace larmor::xray_to_ct {

at::Tensor back_projected(const at::Tensor& radiographs, const at::Tensor& rays, const at::Tensor& truth) {
  const std::array<int64_t, 3> size{truth.size(0), truth.size(1), truth.size(2)};
  constexpr double least_weight = 1e-6;  // of a voxel that a view's rays meet
  std::vector<at::Tensor> columns{at::ones({truth.numel()}, truth.options().dtype(at::kDouble))};
  for (int64_t view = 0; view < radiographs.size(0); ++view) {
    const at::Tensor image = radiographs.narrow(0, view, 1).unsqueeze(0);  // [1, 1, rows, columns]
    const at::Tensor own_rays = rays.narrow(0, view, 1);
    const at::Tensor weights = back_project(at::ones_like(image), own_rays, size)[0];
    const at::Tensor smeared = back_project(image, own_rays, size)[0];
    const at::Tensor mean = at::where(weights.gt(least_weight), smeared / weights, at::zeros_like(smeared));
    columns.push_back(mean.to(at::kDouble).flatten());
  }
  const at::Tensor all = at::stack(columns, 1);  // [voxels, 1 + V]
  const at::Tensor wanted = truth.to(at::kDouble).flatten();
  // Minimum norm, so that a view without contrast, which is one constant more, does no harm.
  const at::Tensor normal = all.t().matmul(all).cpu(), right = all.t().matmul(wanted).cpu();
  const at::Tensor shares = at::linalg_pinv(normal, 1e-12, /*hermitian=*/true).matmul(right);
  return all.matmul(shares.to(all.device())).view(truth.sizes()).clamp(-1, 1).to(truth.scalar_type());
}

}  // namespace larmor::xray_to_ct
