#include "workloads/latent_diffusion/diffusion/sample_picture.h"

#include <optional>
#include <string>
#include <utility>

#include <ATen/ATen.h>

#include "larmor/base/text.h"
#include "larmor/draw/panel.h"
#include "larmor/transforms/planes.h"

namespace larmor::latent_diffusion {

namespace {

constexpr const char* of_intensity = "scaled intensity";

/// "result", or "result 2" where an image has several channels.
std::string title_of_channel(const char* what, const at::Tensor& image, int64_t channel) {
  return image.size(0) > 1 ? text(what, " ", channel + 1) : what;
}

PanelImage channel_image(const char* what, const at::Tensor& image, int64_t channel,
                         const std::optional<Affine>& grid) {
  return {.title = title_of_channel(what, image, channel), .planes = centre_planes(image[channel], grid)};
}

}  // namespace

void show_invented(const at::Tensor& image, const Affine& grid, int64_t example, Metrics& metrics) {
  const Panel frame{.title = "Invented images", .scales = {{.title = of_intensity}}};
  PanelCase shown{.name = text("sample ", example + 1)};
  for (int64_t channel = 0; channel < image.size(0); ++channel)
    shown.images.push_back(channel_image("invented", image, channel, grid));
  metrics.show("samples", frame, std::move(shown));
}

void show_translated(const TranslatedImage& images, int64_t example, Metrics& metrics) {
  const auto grid = metrics.grid(example);
  const Panel frame{
      .title = "Translated images",
      .scales = {{.title = of_intensity},
                 {.title = "|difference|", .colours = PanelScale::Colours::heat, .ends_by_values = true}},
      .unit_of_length = grid ? "mm" : "voxels"};
  PanelCase shown{.name = metrics.case_name(example)};
  for (int64_t channel = 0; channel < images.condition.size(0); ++channel)
    shown.images.push_back(channel_image("condition", images.condition, channel, grid));
  for (int64_t channel = 0; channel < images.target.size(0); ++channel) {
    const PanelImage result = channel_image("result", images.result, channel, grid),
                     target = channel_image("target", images.target, channel, grid);
    const PanelImage difference{.title = title_of_channel("|difference|", images.target, channel),
                                .scale = 1,
                                .planes = differences_of(target, result)};
    shown.images.insert(shown.images.end(), {result, target, difference});
  }
  metrics.show("translations", frame, std::move(shown));
}

}  // namespace larmor::latent_diffusion
