#include "workloads/latent_diffusion/diffusion/sample_picture.h"

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

}  // namespace

void show_invented(const at::Tensor& image, const Affine& grid, int64_t example, Metrics& metrics) {
  const Panel frame{.title = "Invented images", .scales = {{.title = "scaled intensity"}}};
  PanelCase shown{.name = text("sample ", example + 1)};
  show_channels("invented", image, grid, shown);
  metrics.show("samples", frame, std::move(shown));
}

void show_translated(const TranslatedImage& images, int64_t example, Metrics& metrics) {
  const auto grid = metrics.grid(example);
  const Panel frame = comparing_panel("Translated images", 0, 1, grid);
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
