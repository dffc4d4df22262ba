#include "larmor/transforms/planes.h"

#include <array>
#include <cassert>
#include <cstddef>
#include <string>

#include <ATen/ATen.h>

#include "larmor/base/text.h"
#include "larmor/transforms/transforms.h"

namespace larmor {

namespace {

/// An axis of the body: the letters of its ends, and the one that pictures have on the left or at the top.
struct BodyAxis {
  char start, end;
};
constexpr BodyAxis right_left{'R', 'L'}, anterior_posterior{'A', 'P'}, superior_inferior{'S', 'I'};

struct BodyPlane {
  const char* name;
  BodyAxis across, columns, rows;  // across: the one along which there is one place
};
constexpr std::array<BodyPlane, 3> body_planes = {
    {{"sagittal", right_left, anterior_posterior, superior_inferior},
     {"coronal", anterior_posterior, right_left, superior_inferior},
     {"axial", superior_inferior, right_left, anterior_posterior}}};

PanelPlane body_plane(const at::Tensor& volume, const Affine& grid, const BodyPlane& wanted) {
  const std::string codes = axcodes_of(grid);  // of each axis, the end at which its last voxel lies
  const auto spacing = spacing_of(grid);
  const auto axis_of = [&](const BodyAxis& body) {
    return static_cast<int64_t>(codes.find_first_of(std::string{body.start, body.end}));
  };
  const int64_t across = axis_of(wanted.across), columns = axis_of(wanted.columns),
                rows = axis_of(wanted.rows);
  const auto starts = [&](int64_t axis, const BodyAxis& body) {
    return codes[static_cast<std::size_t>(axis)] == body.end;
  };
  at::Tensor plane = volume.select(across, volume.size(across) / 2);
  if (rows > columns) plane = plane.transpose(0, 1);
  if (!starts(rows, wanted.rows)) plane = plane.flip(0);
  if (!starts(columns, wanted.columns)) plane = plane.flip(1);
  PanelPlane result = panel_plane(plane);
  result.column_width = spacing[static_cast<std::size_t>(columns)];
  result.row_height = spacing[static_cast<std::size_t>(rows)];
  result.name = wanted.name;
  result.left = wanted.columns.start;
  result.right = wanted.columns.end;
  result.top = wanted.rows.start;
  result.bottom = wanted.rows.end;
  return result;
}
}  // namespace

PanelPlane panel_plane(const at::Tensor& rows) {
  const auto values = rows.to(at::kCPU, at::kFloat).contiguous();
  const auto* const first = values.const_data_ptr<float>();
  PanelPlane plane{.columns = static_cast<int>(values.size(1)), .rows = static_cast<int>(values.size(0))};
  plane.values.assign(first, first + values.numel());
  return plane;
}

std::vector<PanelPlane> centre_planes(const at::Tensor& volume, const std::optional<Affine>& grid) {
  assert(volume.dim() == 3);
  std::vector<PanelPlane> planes;
  if (grid && is_finite(*grid) && inverse(*grid)) {
    for (const BodyPlane& wanted : body_planes) planes.push_back(body_plane(volume, *grid, wanted));
    return planes;
  }
  for (int64_t axis = 0; axis < 3; ++axis) {
    PanelPlane plane = panel_plane(volume.select(axis, volume.size(axis) / 2).transpose(0, 1).flip(0));
    plane.name = text("across axis ", axis + 1);
    planes.push_back(std::move(plane));
  }
  return planes;
}

}  // namespace larmor
