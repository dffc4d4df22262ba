#include "larmor/formats/nifti/nifti_affine.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace larmor {

namespace {

double squares(const NiftiQform& qform) {
  const auto& [b, c, d] = qform.quaternion;
  return b * b + c * c + d * d;
}

/// What the rounding of three stored float32 can do to the sum of their squares.
constexpr double excess_of_rounding = 3.0 * std::numeric_limits<float>::epsilon();

}  // namespace

double quaternion_excess(const NiftiQform& qform) {
  const double excess = squares(qform) - 1;
  return excess > excess_of_rounding ? excess : 0;
}

Affine from_qform(const NiftiQform& qform, const std::array<double, 3>& spacing) {
  const auto& [b, c, d] = qform.quaternion;
  const double rest = 1 - squares(qform);
  const double a = rest > excess_of_rounding ? std::sqrt(rest) : 0;
  const double length = a * a + b * b + c * c + d * d;
  const double s = 2 / length;
  const std::array<std::array<double, 3>, 3> rotation{{
      {1 - s * (c * c + d * d), s * (b * c - a * d), s * (b * d + a * c)},
      {s * (b * c + a * d), 1 - s * (b * b + d * d), s * (c * d - a * b)},
      {s * (b * d - a * c), s * (c * d + a * b), 1 - s * (b * b + c * c)},
  }};
  Affine affine = identity_affine();
  for (int row = 0; row < 3; ++row) {
    for (int column = 0; column < 3; ++column) {
      const double sign = column == 2 ? qform.handedness : 1;
      affine[row][column] = rotation[row][column] * (spacing[column] * sign);
    }
    affine[row][3] = qform.offset[row];
  }
  return affine;
}

NiftiQform to_qform(const Affine& affine) {
  NiftiQform qform;
  qform.handedness = determinant(affine) < 0 ? -1 : 1;
  const auto spacing = spacing_of(affine);
  double r[3][3];
  for (int row = 0; row < 3; ++row) {
    qform.offset[row] = affine[row][3];
    for (int column = 0; column < 3; ++column) {
      const double sign = column == 2 ? qform.handedness : 1;
      r[row][column] =
          spacing[column] > 0 ? sign * affine[row][column] / spacing[column] : (row == column ? 1 : 0);
    }
  }
  // From the largest of the four parts, so that nothing is divided by a small number.
  const double parts[4] = {1 + r[0][0] + r[1][1] + r[2][2], 1 + r[0][0] - r[1][1] - r[2][2],
                           1 - r[0][0] + r[1][1] - r[2][2], 1 - r[0][0] - r[1][1] + r[2][2]};
  const auto largest = std::max_element(std::begin(parts), std::end(parts)) - std::begin(parts);
  const double q = 0.5 * std::sqrt(std::max(parts[largest], 0.0));
  const double n = q > 0 ? 0.25 / q : 0;
  double a = 0, b = 0, c = 0, d = 0;
  if (largest == 0) {
    a = q, b = n * (r[2][1] - r[1][2]), c = n * (r[0][2] - r[2][0]), d = n * (r[1][0] - r[0][1]);
  } else if (largest == 1) {
    b = q, a = n * (r[2][1] - r[1][2]), c = n * (r[0][1] + r[1][0]), d = n * (r[0][2] + r[2][0]);
  } else if (largest == 2) {
    c = q, a = n * (r[0][2] - r[2][0]), b = n * (r[0][1] + r[1][0]), d = n * (r[1][2] + r[2][1]);
  } else {
    d = q, a = n * (r[1][0] - r[0][1]), b = n * (r[0][2] + r[2][0]), c = n * (r[1][2] + r[2][1]);
  }
  const double length = std::sqrt(a * a + b * b + c * c + d * d);
  const double sign = (a < 0 ? -1 : 1) / (length > 0 ? length : 1);
  qform.quaternion = {sign * b, sign * c, sign * d};
  return qform;
}

bool has_shear(const Affine& affine) {
  const auto spacing = spacing_of(affine);
  for (int i = 0; i < 3; ++i) {
    for (int j = i + 1; j < 3; ++j) {
      double dot = 0;
      for (int row = 0; row < 3; ++row) dot += affine[row][i] * affine[row][j];
      // The angle that float32 rounding of the entries leaves is below 1e-6.
      if (!(std::abs(dot) <= 1e-5 * spacing[i] * spacing[j])) return true;
    }
  }
  return false;
}

Affine from_spacing(const std::vector<int64_t>& shape, const std::array<double, 3>& spacing) {
  Affine affine = identity_affine();
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const double size = axis < shape.size() ? static_cast<double>(shape[axis]) : 1;
    // Axes that the file does not have are 1 mm thick, whatever its unused fields say.
    const double step = (axis < shape.size() ? spacing[axis] : 1) * (axis == 0 ? -1 : 1);
    affine[axis][axis] = step;
    affine[axis][3] = -step * (size - 1) / 2;
  }
  return affine;
}

}  // namespace larmor
