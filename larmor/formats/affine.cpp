#include "larmor/formats/affine.h"

#include <algorithm>
#include <cmath>

namespace larmor {

Affine identity_affine() {
  Affine affine{};
  for (int i = 0; i < 4; ++i) affine[i][i] = 1;
  return affine;
}

Affine centred_affine(const std::vector<int64_t>& size, double field_of_view) {
  Affine affine = identity_affine();
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const double millimetres = field_of_view / static_cast<double>(size[axis]);
    affine[axis][axis] = millimetres;
    affine[axis][3] = -millimetres * static_cast<double>(size[axis] - 1) / 2;
  }
  return affine;
}

std::array<double, 3> spacing_of(const Affine& affine) {
  std::array<double, 3> spacing{};
  for (int column = 0; column < 3; ++column) {
    double squares = 0;
    for (int row = 0; row < 3; ++row) squares += affine[row][column] * affine[row][column];
    spacing[column] = std::sqrt(squares);
  }
  return spacing;
}

Affine compose(const Affine& second, const Affine& first) {
  Affine product{};
  for (int row = 0; row < 4; ++row) {
    for (int column = 0; column < 4; ++column) {
      for (int k = 0; k < 4; ++k) product[row][column] += second[row][k] * first[k][column];
    }
  }
  return product;
}

double determinant(const Affine& a) {
  return a[0][0] * (a[1][1] * a[2][2] - a[1][2] * a[2][1]) -
         a[0][1] * (a[1][0] * a[2][2] - a[1][2] * a[2][0]) +
         a[0][2] * (a[1][0] * a[2][1] - a[1][1] * a[2][0]);
}

std::optional<Affine> inverse(const Affine& a) {
  // Relative to the voxel's size: 1e-3 mm voxels are small, not singular.
  const auto spacing = spacing_of(a);
  const double volume = determinant(a);
  const double box = spacing[0] * spacing[1] * spacing[2];
  if (!std::isfinite(volume) || !(box > 0) || std::abs(volume) < 1e-9 * box) return std::nullopt;
  Affine result = identity_affine();
  for (int row = 0; row < 3; ++row) {
    const int r1 = (row + 1) % 3, r2 = (row + 2) % 3;
    for (int column = 0; column < 3; ++column) {
      const int c1 = (column + 1) % 3, c2 = (column + 2) % 3;
      result[row][column] = (a[c1][r1] * a[c2][r2] - a[c1][r2] * a[c2][r1]) / volume;
    }
  }
  for (int row = 0; row < 3; ++row) {
    result[row][3] = -(result[row][0] * a[0][3] + result[row][1] * a[1][3] + result[row][2] * a[2][3]);
  }
  return result;
}

bool is_finite(const Affine& affine) {
  return std::all_of(affine.begin(), affine.end(), [](const auto& row) {
    return std::all_of(row.begin(), row.end(), [](double value) { return std::isfinite(value); });
  });
}

std::array<double, 3> position(const Affine& affine, const std::array<double, 3>& index) {
  std::array<double, 3> place{};
  for (int row = 0; row < 3; ++row) {
    place[row] =
        affine[row][0] * index[0] + affine[row][1] * index[1] + affine[row][2] * index[2] + affine[row][3];
  }
  return place;
}

}  // namespace larmor
