#include "workloads/xray_to_ct/stage/cascade_picture.h"

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include <ATen/ATen.h>

#include "larmor/base/text.h"
#include "larmor/draw/panel.h"
#include "larmor/kernels/projector/projector.h"
#include "larmor/transforms/planes.h"

#include "workloads/xray_to_ct/data/pair_dataset.h"

namespace larmor::xray_to_ct {
namespace {

constexpr std::size_t of_radiographs = 0, of_volumes = 1, of_differences = 2;  // of the panel's scales

std::string unit_of(const std::optional<Affine>& grid) { return grid ? "mm" : "voxels"; }

Panel frame_of_cascade(const PairConfig& pairs, const std::optional<Affine>& grid) {
  // Bone is white before the densest metal is: up to 1400 HU by default.
  const double low = pairs.hu_range[0], high = low + 0.6 * (pairs.hu_range[1] - low);
  return {.title = "Volumes made of radiographs",
          .scales = {{.title = "radiograph", .unit = "scaled", .low = -1, .high = 1},
                     {.title = "volume", .unit = "HU", .low = low, .high = high},
                     {.title = "|difference|",
                      .unit = "HU",
                      .colours = PanelScale::Colours::heat,
                      .ends_by_values = true}},
          .unit_of_length = unit_of(grid),
          .note =
              "A reprojection is the radiograph of the last stage's volume. Lengths in radiographs are "
              "those at the middle of the body."};
}

/// image: [rows, columns], row 0 on top.
PanelPlane view_plane(const at::Tensor& image, std::size_t view, const std::array<double, 2>& spacing) {
  const bool is_lateral = view == 1;
  PanelPlane plane = panel_plane(image);
  plane.row_height = spacing[0];
  plane.column_width = spacing[1];
  plane.name = is_lateral ? "lateral" : "frontal";
  plane.left = is_lateral ? "P" : "R";
  plane.right = is_lateral ? "A" : "L";
  plane.top = "S";
  plane.bottom = "I";
  return plane;
}

/// The grid of a coarser or a finer volume of the same cube: its directions and distances.
std::optional<Affine> grid_of(const at::Tensor& volume, const at::Tensor& truth, std::optional<Affine> grid) {
  if (!grid) return grid;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const auto place = static_cast<int64_t>(axis);
    const double factor = static_cast<double>(truth.size(place)) / static_cast<double>(volume.size(place));
    for (std::size_t row = 0; row < 3; ++row) (*grid)[row][axis] *= factor;
  }
  return grid;
}

/// The centre planes of a volume in [-1, 1], in HU.
std::vector<PanelPlane> planes_in_hu(const at::Tensor& volume, const std::optional<Affine>& grid,
                                     const PairConfig& pairs) {
  std::vector<PanelPlane> planes = centre_planes(volume, grid);
  for (PanelPlane& plane : planes) {
    const at::Tensor values = at::from_blob(plane.values.data(), {std::ssize(plane.values)}, at::kFloat);
    values.copy_(hu_of_unit(values, pairs));
  }
  return planes;
}

}  // namespace

void show_cascade(const CascadeCase& made, const PairConfig& pairs, int64_t example, Metrics& metrics) {
  const auto grid = metrics.grid(example);
  PanelCase shown{.name = metrics.case_name(example)};
  PanelImage given{.title = "radiograph", .scale = of_radiographs},
      reprojected{.title = "reprojection", .scale = of_radiographs};
  for (int64_t view = 0; view < made.radiographs.size(0); ++view) {
    const auto spacing =
        grid ? ray_spacing(made.rays[view], {made.truth.size(0), made.truth.size(1), made.truth.size(2)})
             : std::array<double, 2>{1, 1};
    const auto number = static_cast<std::size_t>(view);
    given.planes.push_back(view_plane(made.radiographs[view], number, spacing));
    reprojected.planes.push_back(view_plane(made.reprojections[view], number, spacing));
  }
  shown.images.push_back(std::move(given));
  shown.images.push_back(std::move(reprojected));
  const auto add_volume = [&](const std::string& title, const at::Tensor& volume) {
    shown.images.push_back({.title = title,
                            .scale = of_volumes,
                            .planes = planes_in_hu(volume, grid_of(volume, made.truth, grid), pairs)});
  };
  add_volume("CT", made.truth);
  const std::size_t ct = shown.images.size() - 1;
  for (std::size_t stage = 0; stage < made.stages.size(); ++stage)
    add_volume(text("stage ", stage + 1), made.stages[stage]);
  auto differences = differences_of(shown.images[ct], shown.images.back());
  shown.images.push_back({.title = text("|CT - stage ", made.stages.size(), "|"),
                          .scale = of_differences,
                          .planes = std::move(differences)});
  metrics.show("volume", frame_of_cascade(pairs, grid), std::move(shown));
}

void show_spread(const at::Tensor& error, const at::Tensor& deviation, int64_t example, Metrics& metrics) {
  const auto grid = metrics.grid(example);
  const Panel frame{.title = "How far samples are from one another, and their mean from the CT",
                    .scales = {{.title = "error and deviation",
                                .unit = "HU",
                                .colours = PanelScale::Colours::heat,
                                .ends_by_values = true}},
                    .unit_of_length = unit_of(grid)};
  metrics.show("spread", frame,
               {.name = metrics.case_name(example),
                .images = {{.title = "|error| of the mean", .planes = centre_planes(error, grid)},
                           {.title = "deviation", .planes = centre_planes(deviation, grid)}}});
}

}  // namespace larmor::xray_to_ct
