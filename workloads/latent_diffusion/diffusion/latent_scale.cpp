#include "workloads/latent_diffusion/diffusion/latent_scale.h"

#include <ATen/ATen.h>

#include "larmor/base/error.h"

namespace larmor::latent_diffusion {

LatentSpread::LatentSpread(int64_t groups) : groups_(groups), sums_(at::zeros({3, groups}, at::kDouble)) {}

void LatentSpread::add(const at::Tensor& latents) {
  const at::Tensor values = latents.detach().to(at::kDouble).transpose(0, 1).reshape({groups_, -1});
  const at::Tensor count = at::full({groups_}, static_cast<double>(values.size(1)), values.options());
  const at::Tensor here = at::stack({count, values.sum(1), values.square().sum(1)});
  sums_ = sums_.to(here.device()) + here;
}

at::Tensor LatentSpread::scale(const std::function<at::Tensor(const at::Tensor&)>& sum_over_ranks) const {
  const at::Tensor all = sum_over_ranks(sums_).cpu();
  const at::Tensor variance = (all[2] - all[1].square() / all[0]) / (all[0] - 1);
  if (!(variance.min().item<double>() > 0))
    fail(Exit::data, "the autoencoder's latents of the first batch are all alike",
         "look at what the autoencoder rebuilds: it has not learned, or the images are empty");
  return variance.rsqrt().view({1, groups_, 1, 1, 1});
}

}  // namespace larmor::latent_diffusion
