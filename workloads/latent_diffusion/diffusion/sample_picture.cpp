#include "workloads/latent_diffusion/diffusion/sample_picture.h"

#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include <ATen/ATen.h>

#include "larmor/base/text.h"
#include "larmor/draw/panel.h"
#include "larmor/transforms/compared_planes.h"
#include "larmor/transforms/planes.h"

namespace larmor::latent_diffusion {

namespace {

constexpr const char* about_neighbours =
    "Nearest: of the training images, with its distance (1: the least between two of them; 0: a copy).";

/// "result", or "result 2" where an image has several channels.
std::string title_of_channel(const char* what, const at::Tensor& image, int64_t channel) {
  return image.size(0) > 1 ? text(what, " ", channel + 1) : what;
}

TitledVolume channel_of(const char* what, const at::Tensor& image, int64_t channel) {
  return {title_of_channel(what, image, channel), image[channel]};
}

/// Each channel of an image [C, D, H, W].
void show_channels(const char* what, const at::Tensor& image, const std::optional<Affine>& grid,
                   PanelCase& shown) {
  for (int64_t channel = 0; channel < image.size(0); ++channel)
    shown.images.push_back(
        {.title = title_of_channel(what, image, channel), .planes = centre_planes(image[channel], grid)});
}

std::string name_of_sample(int64_t example) { return text("sample ", example + 1); }

/// Empty where there are as many as `predict` takes.
std::string steps_text(const SampleSteps& steps) {
  if (steps.taken == steps.all) return "";
  return text("Sampled in ", steps.taken, " steps, by evaluate and predict in ", steps.all, ". ");
}

}  // namespace

void show_invented(const at::Tensor& image, const Affine& grid, const SampleSteps& steps, int64_t example,
                   Metrics& metrics) {
  const Panel frame{.title = "Invented images",
                    .scales = {{.title = "scaled intensity"}},
                    .note = steps_text(steps) + about_neighbours};
  PanelCase shown{.name = name_of_sample(example)};
  show_channels("invented", image, grid, shown);
  metrics.show("samples", frame, std::move(shown));
}

void show_training_case(const TrainingImage& nearest, const Affine& grid, int64_t example, Metrics& metrics) {
  for (int64_t channel = 0; channel < nearest.image.size(0); ++channel) {
    const std::string what = title_of_channel("nearest", nearest.image, channel);
    const std::string ratio = std::isfinite(nearest.ratio) ? text(" (", fixed(nearest.ratio, 2), ")") : "";
    metrics.show_beside("samples", name_of_sample(example),
                        {.title = text(what, ": ", nearest.name, ratio),
                         .planes = centre_planes(nearest.image[channel], grid)});
  }
}

void show_translated(const TranslatedImage& images, const SampleSteps& steps, int64_t example,
                     Metrics& metrics) {
  const auto grid = metrics.grid(example);
  Panel frame = comparing_panel("Translated images", 0, 1, grid);
  frame.note = steps_text(steps);
  PanelCase shown{.name = metrics.case_name(example)};
  show_channels("condition", images.condition, grid, shown);
  for (int64_t channel = 0; channel < images.target.size(0); ++channel) {
    for (auto& one : compared_images(channel_of("result", images.result, channel),
                                     channel_of("target", images.target, channel),
                                     title_of_channel("|difference|", images.target, channel), grid))
      shown.images.push_back(std::move(one));
  }
  metrics.show("translations", frame, std::move(shown));
}

}  // namespace larmor::latent_diffusion
