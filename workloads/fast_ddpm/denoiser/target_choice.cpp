#include "workloads/fast_ddpm/denoiser/target_choice.h"

#include <ATen/ATen.h>

#include "larmor/kernels/draw/draw.h"

namespace larmor::fast_ddpm {
namespace {

at::Tensor over_voxels(const at::Tensor& is_target) { return is_target.unflatten(1, {-1, 1, 1, 1}); }

}  // namespace

at::Tensor draw_targets(const at::Tensor& present) {
  const at::Tensor place = at::cumsum(present, 1) - 1;  // of each channel among those that are there
  const at::Tensor share =
      draw_uniform_like(at::empty({present.size(0), 1}, present.options().dtype(at::kFloat)), "target");
  const at::Tensor chosen = (share * present.sum(1, /*keepdim=*/true)).floor().to(at::kLong);
  return present.bitwise_and(place.eq(chosen));
}

at::Tensor same_target(int64_t rows, int64_t channels, int64_t target, const at::Tensor& like) {
  const at::Tensor is_target = at::zeros({rows, channels}, like.options().dtype(at::kBool));
  is_target.select(1, target).fill_(true);
  return is_target;
}

at::Tensor channel_of(const at::Tensor& image, const at::Tensor& is_target) {
  return (image * over_voxels(is_target)).sum(1, /*keepdim=*/true);
}

at::Tensor with_channel(const at::Tensor& image, const at::Tensor& is_target, const at::Tensor& value) {
  const at::Tensor here = over_voxels(is_target);  // no at::where: it cannot be counted on the meta device
  return image * here.bitwise_not() + value * here;
}

}  // namespace larmor::fast_ddpm
