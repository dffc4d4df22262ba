#include "larmor/transforms/affine_draw.h"

#include <cmath>
#include <utility>

namespace larmor {

namespace {

/// About `axis`, turning the next axis towards the one after it.
Affine rotation_about(std::size_t axis, double radians) {
  const std::size_t from = (axis + 1) % 3, to = (axis + 2) % 3;
  Affine rotation = identity_affine();
  rotation[from][from] = rotation[to][to] = std::cos(radians);
  rotation[from][to] = -std::sin(radians);
  rotation[to][from] = std::sin(radians);
  return rotation;
}

Affine shift_by(const std::array<double, 3>& distance) {
  Affine shift = identity_affine();
  for (std::size_t axis = 0; axis < 3; ++axis) shift[axis][3] = distance[axis];
  return shift;
}

Affine rotation_of(const AffineDraw& drawn, bool flat) {
  if (flat) return rotation_about(2, drawn.rotate[0]);
  Affine rotation = identity_affine();
  for (std::size_t axis = 0; axis < 3; ++axis)
    rotation = compose(rotation, rotation_about(axis, drawn.rotate[axis]));
  return rotation;
}

Affine shear_of(const AffineDraw& drawn, bool flat) {
  constexpr std::array<std::pair<std::size_t, std::size_t>, 6> pairs{
      {{0, 1}, {0, 2}, {1, 0}, {1, 2}, {2, 0}, {2, 1}}};
  std::array<double, 6> shears = drawn.shear;
  if (flat) shears = {drawn.shear[0], 0, drawn.shear[1], 0, 0, 0};
  Affine result = identity_affine();
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    Affine one = identity_affine();
    one[pairs[i].first][pairs[i].second] = shears[i];
    result = compose(one, result);
  }
  return result;
}

}  // namespace

Affine matrix_of(const AffineDraw& drawn, bool flat) {
  auto translate = drawn.translate, scale = drawn.scale;
  if (flat) {
    translate[2] = 0;
    scale[2] = 1;
  }
  Affine scaling = identity_affine();
  for (std::size_t axis = 0; axis < 3; ++axis) scaling[axis][axis] = scale[axis];
  const Affine moved = compose(shift_by(translate), scaling);
  return compose(rotation_of(drawn, flat), compose(shear_of(drawn, flat), moved));
}

Affine about_centres(const Affine& map, const GridSize& size, const GridSize& old_size) {
  std::array<double, 3> from{}, to{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    from[axis] = -static_cast<double>(size[axis] - 1) / 2;
    to[axis] = static_cast<double>(old_size[axis] - 1) / 2;
  }
  return compose(shift_by(to), compose(map, shift_by(from)));
}

Affine between_faces(const GridSize& size, const GridSize& old_size) {
  Affine map = identity_affine();
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const double step = static_cast<double>(old_size[axis]) / static_cast<double>(size[axis]);
    map[axis][axis] = step;
    map[axis][3] = (step - 1) / 2;
  }
  return map;
}

}  // namespace larmor
