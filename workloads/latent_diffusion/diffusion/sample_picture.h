// What the diffusion stage samples, for a person to look at.
#pragma once

#include <cstdint>
#include <string>

#include <ATen/core/Tensor.h>

#include "larmor/formats/affine.h"
#include "larmor/task/metrics.h"

namespace larmor::latent_diffusion {

/// The number of steps in which an image was sampled, and in how many `predict` samples one.
struct SampleSteps {
  int64_t taken = 0, all = 0;
};

/// One more case of the picture `samples`: an invented image [C, D, H, W] from 0 to 1, on the grid of
/// training. It belongs to no patient, so that it has a number in place of a name.
void show_invented(const at::Tensor& image, const Affine& grid, const SampleSteps& steps, int64_t example,
                   Metrics& metrics);

/// An image [C, D, H, W] that was learned from.
struct TrainingImage {
  at::Tensor image;
  std::string name;
  double ratio = 0;  // Neighbour::ratio
};

/// Shows, beside the invented image of `example`, the one of training that is nearest to it.
void show_training_case(const TrainingImage& nearest, const Affine& grid, int64_t example, Metrics& metrics);

/// A translated image [C, D, H, W] beside what it was made from, what it should be, and their difference.
struct TranslatedImage {
  at::Tensor condition, result, target;
};

/// One more case of the picture `translations`.
void show_translated(const TranslatedImage& images, const SampleSteps& steps, int64_t example,
                     Metrics& metrics);

}  // namespace larmor::latent_diffusion
