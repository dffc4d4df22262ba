// Posteriors of a trained autoencoder in place of images: computed once for each case, so that training does
// not encode the same image at every visit.
#pragma once

#include <functional>
#include <memory>

#include "larmor/data/volume_source.h"

namespace larmor::latent_diffusion {

/// Names of the volumes that encoded() gives: means, then standard deviations, [2 latent channels, d, h, w].
namespace kept_latent {
constexpr const char* target = "latent";
constexpr const char* condition = "latent_of_condition";
}  // namespace kept_latent

/// The posteriors of one case by the names above; images [C, D, H, W] by theirs. Throws Error (data) where
/// the autoencoder cannot take them.
using EncodeCase = std::function<Sample(const Sample& images)>;

/// What an autoencoder makes of the source's volumes. `make` is called once, when the first case is asked
/// for; one thread at a time encodes. Requires: the source gives volumes in memory.
std::unique_ptr<VolumeSource> encoded(std::unique_ptr<VolumeSource> source, std::function<EncodeCase()> make);

}  // namespace larmor::latent_diffusion
