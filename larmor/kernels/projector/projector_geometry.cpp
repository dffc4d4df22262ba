#include <cmath>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include "larmor/base/error.h"
#include "larmor/kernels/projector/projector.h"
#include "larmor/kernels/projector/projector_ray.h"

namespace larmor {
namespace {

using Vector = std::array<double, 3>;
using Matrix = std::array<Vector, 3>;

Vector times(double factor, const Vector& a) { return {factor * a[0], factor * a[1], factor * a[2]}; }
Vector plus(const Vector& a, const Vector& b) { return {a[0] + b[0], a[1] + b[1], a[2] + b[2]}; }
Vector cross(const Vector& a, const Vector& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
double dot(const Vector& a, const Vector& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
Vector times(const Matrix& matrix, const Vector& a) {
  return {dot(matrix[0], a), dot(matrix[1], a), dot(matrix[2], a)};
}

/// Of the matrix with these columns.
Matrix inverse_of_columns(const Vector& a, const Vector& b, const Vector& c) {
  const double determinant = dot(a, cross(b, c));
  require(std::isnormal(determinant), Exit::data,
          "the voxels of the volume to be projected have no extent along some direction",
          "check the volume's affine: its columns have to be independent");
  return {times(1 / determinant, cross(b, c)), times(1 / determinant, cross(c, a)),
          times(1 / determinant, cross(a, b))};
}

void require_sound(const RadiographView& view) {
  const bool distances = view.beam == Beam::parallel ||
                         (view.source_to_isocentre > 0 && view.source_to_detector > view.source_to_isocentre);
  require(view.pixels[0] > 0 && view.pixels[1] > 0 && view.spacing[0] > 0 && view.spacing[1] > 0 &&
              distances && std::isfinite(view.degrees),
          Exit::data, "a radiograph's geometry has a size or a distance that is not above 0",
          "give it pixels and a spacing above 0, and a detector that lies behind the isocentre");
}

/// A volume's indices: from a position and from a direction in mm.
struct ToIndices {
  explicit ToIndices(const VoxelPositions& positions)
      : linear(inverse_of_columns({positions[0][0], positions[1][0], positions[2][0]},
                                  {positions[0][1], positions[1][1], positions[2][1]},
                                  {positions[0][2], positions[1][2], positions[2][2]})),
        origin{positions[0][3], positions[1][3], positions[2][3]} {}
  Vector direction(const Vector& mm) const { return times(linear, mm); }
  Vector position(const Vector& mm) const { return times(linear, plus(mm, times(-1, origin))); }

  Matrix linear;
  Vector origin;
};

void put(double* numbers, int where, const Vector& vector) {
  for (size_t i = 0; i < 3; ++i) numbers[static_cast<size_t>(where) + i] = vector[i];
}
void put(double* numbers, int where, const Matrix& matrix) {
  for (int i = 0; i < 3; ++i) put(numbers, where + 3 * i, matrix[static_cast<size_t>(i)]);
}

void put_view(double* numbers, const RadiographView& view, const VoxelPositions& positions) {
  const double angle = view.degrees * M_PI / 180;
  const Vector beam{std::sin(angle), std::cos(angle), 0};
  const Vector along_rows{-std::cos(angle), std::sin(angle), 0};
  const ToIndices to_indices(positions);
  const Vector column = to_indices.direction(times(view.spacing[1], along_rows));
  const Vector row = to_indices.direction({0, 0, -view.spacing[0]});
  const Vector to_corner = plus(times(-0.5 * static_cast<double>(view.pixels[1] - 1), column),
                                times(-0.5 * static_cast<double>(view.pixels[0] - 1), row));
  const bool cone = view.beam == Beam::cone;
  numbers[rays::is_cone] = cone ? 1 : 0;
  for (size_t i = 0; i < 3; ++i)
    put(numbers, rays::mm + 3 * static_cast<int>(i),
        Vector{positions[i][0], positions[i][1], positions[i][2]});
  if (!cone) {
    const Vector along = to_indices.direction(beam);
    put(numbers, rays::point, plus(to_indices.position(view.isocentre), to_corner));
    put(numbers, rays::point_per_row, row);
    put(numbers, rays::point_per_column, column);
    put(numbers, rays::direction, along);
    put(numbers, rays::to_pixel, inverse_of_columns(row, column, along));
    return;
  }
  const Vector to_first = plus(to_indices.direction(times(view.source_to_detector, beam)), to_corner);
  put(numbers, rays::point,
      to_indices.position(plus(view.isocentre, times(-view.source_to_isocentre, beam))));
  put(numbers, rays::direction, to_first);
  put(numbers, rays::direction_per_row, row);
  put(numbers, rays::direction_per_column, column);
  put(numbers, rays::to_pixel, inverse_of_columns(row, column, to_first));
}

}  // namespace

at::Tensor ray_geometry(const std::vector<RadiographView>& views, const VoxelPositions& positions) {
  at::Tensor geometry = at::empty({static_cast<int64_t>(views.size()), ray_numbers}, at::kDouble).zero_();
  auto* numbers = geometry.mutable_data_ptr<double>();
  for (const RadiographView& view : views) {
    require_sound(view);
    require(view.pixels == views.front().pixels, Exit::data,
            "views that are computed together differ in their numbers of pixels",
            "give all views of a volume the same rows and columns");
    put_view(numbers, view, positions);
    numbers += ray_numbers;
  }
  return geometry;
}

std::array<double, 2> ray_spacing(const at::Tensor& of_view, std::array<int64_t, 3> size) {
  const at::Tensor host = of_view.to(at::kCPU, at::kDouble).contiguous();
  const double* const numbers = host.const_data_ptr<double>();
  const auto vector_at = [&](int place) {
    return Vector{numbers[place], numbers[place + 1], numbers[place + 2]};
  };
  const Matrix in_mm{vector_at(rays::mm), vector_at(rays::mm + 3), vector_at(rays::mm + 6)};
  const auto length = [&](int place) {
    const Vector mm = times(in_mm, vector_at(place));
    return std::sqrt(dot(mm, mm));
  };
  if (numbers[rays::is_cone] == 0) return {length(rays::point_per_row), length(rays::point_per_column)};
  Vector middle = times(-1, vector_at(rays::point));
  for (std::size_t axis = 0; axis < 3; ++axis) middle[axis] += 0.5 * static_cast<double>(size[axis] - 1);
  const double along = dot(vector_at(rays::to_pixel + 6), middle);  // 0 at the source, 1 at the detector
  return {along * length(rays::direction_per_row), along * length(rays::direction_per_column)};
}

}  // namespace larmor
