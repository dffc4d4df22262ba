#include "workloads/latent_diffusion/diffusion/kept_latents.h"

#include <mutex>
#include <string>
#include <utility>

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>

#include "larmor/base/ensure.h"

namespace larmor::latent_diffusion {
namespace {

class EncodedVolumes final : public SourceDecorator {
 public:
  EncodedVolumes(std::unique_ptr<VolumeSource> source, std::function<EncodeCase()> make)
      : SourceDecorator(std::move(source)), make_(std::move(make)) {}

  SourceVolumes get(const ExampleKey& key) const override {
    const SourceVolumes given = inner().get(key);
    ensure(!given.deferred);
    Sample images;
    for (const auto& [name, volume] : given.volumes) images.emplace(name, volume.voxels.contiguous());
    SourceVolumes result;
    for (auto& [name, posterior] : encode(images)) result.volumes[name] = {.voxels = std::move(posterior)};
    return result;
  }

 private:
  Sample encode(const Sample& images) const {
    const std::lock_guard lock(mutex_);
    if (!encode_) encode_ = make_();
    const at::NoGradGuard no_gradient;
    return encode_(images);
  }

  const std::function<EncodeCase()> make_;
  mutable std::mutex mutex_;  // guards what follows
  mutable EncodeCase encode_;
};

}  // namespace

std::unique_ptr<VolumeSource> encoded(std::unique_ptr<VolumeSource> source,
                                      std::function<EncodeCase()> make) {
  return std::make_unique<EncodedVolumes>(std::move(source), std::move(make));
}

}  // namespace larmor::latent_diffusion
