#include "workloads/latent_diffusion/diffusion/latent_space.h"

#include <utility>

#include <ATen/ATen.h>

#include "larmor/base/ensure.h"
#include "larmor/kernels/draw/draw.h"

namespace larmor::latent_diffusion {

namespace {

at::Tensor shape_alone(const nn::AutoencoderKl& network, const at::Tensor& image) {
  return at::empty(network->latent_shape(image.sizes()), image.options());
}

}  // namespace

LatentSpace::LatentSpace(std::unique_ptr<Task> autoencoder) : task_(std::move(autoencoder)) {
  ensure(dynamic_cast<const AutoencoderTask*>(task_.get()) != nullptr);
}

const AutoencoderTask& LatentSpace::autoencoder() const {
  return static_cast<const AutoencoderTask&>(*task_);
}

at::Tensor LatentSpace::posterior(const at::Tensor& image) const {
  const at::NoGradGuard no_grad;
  const nn::AutoencoderKl& network = autoencoder().network();
  if (image.is_meta()) {
    const at::Tensor one = shape_alone(network, image);
    return at::cat({one, one}, 1);
  }
  const auto [mean, sigma] = nn::AutoencoderKl(network)->encode(image);
  return at::cat({mean, sigma}, 1).to(image.scalar_type());
}

at::Tensor LatentSpace::drawn(const at::Tensor& posterior, std::string_view purpose) {
  const at::NoGradGuard no_grad;
  const std::vector<at::Tensor> parts = posterior.chunk(2, 1);
  const at::Tensor noise = draw_normal_like(parts[0], purpose);
  return posterior.is_meta() ? noise : parts[0] + parts[1] * noise;
}

at::Tensor LatentSpace::mean(const at::Tensor& image) const {
  const at::NoGradGuard no_grad;
  const nn::AutoencoderKl& network = autoencoder().network();
  if (image.is_meta()) return shape_alone(network, image);
  return nn::AutoencoderKl(network)->encode(image).first.to(image.scalar_type());
}

at::Tensor LatentSpace::decoded(const at::Tensor& latent) const {
  const at::NoGradGuard no_grad;
  return nn::AutoencoderKl(autoencoder().network())->decode(latent).to(latent.scalar_type());
}

}  // namespace larmor::latent_diffusion
