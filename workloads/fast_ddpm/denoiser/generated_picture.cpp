#include "workloads/fast_ddpm/denoiser/generated_picture.h"

#include <utility>

#include <ATen/ATen.h>

#include "larmor/base/ensure.h"
#include "larmor/draw/panel.h"
#include "larmor/transforms/compared_planes.h"
#include "larmor/transforms/planes.h"

namespace larmor::fast_ddpm {

int64_t shown_target(const at::Tensor& present, int64_t place) {
  std::vector<int64_t> there;
  for (int64_t channel = 0; channel < present.size(0); ++channel) {
    if (present[channel].item<bool>()) there.push_back(channel);
  }
  ensure(!there.empty());
  return there[static_cast<std::size_t>(place) % there.size()];
}

void show_generated(const std::string& name, const GeneratedModality& made,
                    const std::vector<std::string>& modalities, int64_t example, Metrics& metrics) {
  const auto grid = metrics.grid(example);
  const Panel frame = comparing_panel("Modalities generated from the others", -1, 1, grid);
  PanelCase shown{.name = metrics.case_name(example)};
  for (int64_t channel = 0; channel < made.image.size(0); ++channel) {
    if (channel == made.target || !made.present[channel].item<bool>()) continue;
    shown.images.push_back({.title = "source " + modalities[static_cast<std::size_t>(channel)],
                            .planes = centre_planes(made.image[channel], grid)});
  }
  const std::string& modality = modalities[static_cast<std::size_t>(made.target)];
  for (auto& one : compared_images({"target " + modality, made.image[made.target]},
                                   {"result " + modality, made.generated}, "|difference|", grid))
    shown.images.push_back(std::move(one));
  metrics.show(name, frame, std::move(shown));
}

}  // namespace larmor::fast_ddpm
