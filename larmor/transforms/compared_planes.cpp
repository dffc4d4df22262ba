#include "larmor/transforms/compared_planes.h"

#include <utility>

#include "larmor/transforms/planes.h"

namespace larmor {

namespace {
constexpr std::size_t of_differences = 1;  // of the panel's scales
}  // namespace

Panel comparing_panel(const std::string& title, double low, double high, const std::optional<Affine>& grid) {
  return {.title = title,
          .scales = {{.title = "scaled intensity", .low = low, .high = high},
                     {.title = "|difference|", .colours = PanelScale::Colours::heat, .ends_by_values = true}},
          .unit_of_length = grid ? "mm" : "voxels"};
}

std::vector<PanelImage> compared_images(const TitledVolume& first, const TitledVolume& second,
                                        const std::string& difference, const std::optional<Affine>& grid) {
  std::vector<PanelImage> images{{.title = first.title, .planes = centre_planes(first.voxels, grid)},
                                 {.title = second.title, .planes = centre_planes(second.voxels, grid)}};
  auto differences = differences_of(images[0], images[1]);
  images.push_back({.title = difference, .scale = of_differences, .planes = std::move(differences)});
  return images;
}

}  // namespace larmor
