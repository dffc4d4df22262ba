#include "larmor/formats/dicom/dicom_geometry.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>

#include "larmor/base/ensure.h"
#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor {

namespace {

using Vector = std::array<double, 3>;

Vector operator-(const Vector& a, const Vector& b) { return {a[0] - b[0], a[1] - b[1], a[2] - b[2]}; }
Vector operator*(const Vector& a, double factor) { return {a[0] * factor, a[1] * factor, a[2] * factor}; }
double dot(const Vector& a, const Vector& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
double length(const Vector& a) { return std::sqrt(dot(a, a)); }
Vector cross(const Vector& a, const Vector& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

struct Directions {
  Vector along_row, along_column, normal;
};

Directions directions_of(const DicomSlice& slice) {
  constexpr double tolerance = 0.01;
  const auto& numbers = *slice.plane.orientation;
  const Vector row = {numbers[0], numbers[1], numbers[2]}, column = {numbers[3], numbers[4], numbers[5]};
  const bool sound = std::abs(length(row) - 1) < tolerance && std::abs(length(column) - 1) < tolerance &&
                     std::abs(dot(row, column)) < tolerance;
  if (!sound)
    fail(Exit::data,
         text(slice.name, " has directions (0020,0037) that are not at right angles or not of length 1"));
  const Vector normal = cross(row, column);
  return {row, column, normal * (1 / length(normal))};
}

bool is_placed(const DicomSlice& slice) { return slice.plane.position && slice.plane.orientation; }

bool has_spacing(const DicomPlane& plane) {
  return plane.spacing && (*plane.spacing)[0] > 0 && (*plane.spacing)[1] > 0;
}

/// Of rows and columns; 1 where nothing sensible is said.
std::array<double, 2> pixel_size(const DicomPlane& plane, std::vector<std::string>& problems) {
  if (has_spacing(plane)) return *plane.spacing;
  problems.push_back("does not say how large its pixels are (0028,0030); 1 mm is taken");
  return {1, 1};
}

template <class Numbers>
bool nearly_equal(const Numbers& a, const Numbers& b, double tolerance) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::abs(a[i] - b[i]) > tolerance) return false;
  }
  return true;
}

void check_alike(const DicomSlice& first, const DicomSlice& other) {
  if (first.rows != other.rows || first.columns != other.columns) {
    fail(Exit::data,
         text("slices differ in size: ", first.name, " is ", first.columns, " x ", first.rows, ", ",
              other.name, " is ", other.columns, " x ", other.rows),
         "keep the slices of one size in a folder of their own");
  }
  if (!is_placed(other) || !is_placed(first)) {
    fail(Exit::data, text(is_placed(first) ? other.name : first.name,
                          " does not say where it lies (0020,0032 and 0020,0037)"));
  }
  if (!nearly_equal(*first.plane.orientation, *other.plane.orientation, 1e-3))
    fail(Exit::data, text("slices lie in different directions: ", first.name, " and ", other.name));
  const bool spaced = has_spacing(first.plane), alike = spaced == has_spacing(other.plane);
  if (!alike || (spaced && !nearly_equal(*first.plane.spacing, *other.plane.spacing, 1e-3)))
    fail(Exit::data,
         text("slices differ in the size of their pixels (0028,0030): ", first.name, " and ", other.name));
}

/// Neighbours are one step apart, straight above each other.
void check_steps(const std::vector<DicomSlice>& slices, const std::vector<std::size_t>& order,
                 const Vector& normal) {
  std::vector<double> steps;
  for (std::size_t i = 1; i < order.size(); ++i) {
    const Vector move = *slices[order[i]].plane.position - *slices[order[i - 1]].plane.position;
    steps.push_back(dot(move, normal));
  }
  std::vector<double> sorted = steps;
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2),
                   sorted.end());
  const double usual = sorted[sorted.size() / 2];
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const DicomSlice &low = slices[order[i]], &high = slices[order[i + 1]];
    if (steps[i] < 1e-3)
      fail(Exit::data, text(low.name, " and ", high.name, " lie at the same place"),
           "keep one time point, echo or copy in a folder of its own");
    if (std::abs(steps[i] - usual) > std::max(0.05 * usual, 0.02)) {
      fail(Exit::data,
           text("there is a gap of ", fixed(steps[i], 2), " mm between ", low.name, " and ", high.name,
                ", where other slices are ", fixed(usual, 2), " mm apart"),
           "find the slices that are missing, or leave the series out");
    }
    const Vector move = *high.plane.position - *low.plane.position;
    const double aside = length(move - normal * steps[i]);
    if (aside > 0.02 * usual + 0.02) {
      const double degrees = std::atan2(aside, steps[i]) * 180 / std::numbers::pi;
      fail(Exit::data,
           text("the slices are tilted: from ", low.name, " to ", high.name, " they shift by ",
                fixed(aside, 2), " mm, ", fixed(degrees, 1), " degrees"),
           "straighten the series first, for instance with dcm2niix");
    }
  }
}

/// From DICOM's axes (Left, Posterior, Superior) to ours.
Affine to_ras(const std::array<Vector, 3>& columns, const Vector& origin) {
  Affine affine = identity_affine();
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const double sign = axis < 2 ? -1 : 1;
    for (std::size_t i = 0; i < 3; ++i) affine[axis][i] = sign * columns[i][axis];
    affine[axis][3] = sign * origin[axis];
  }
  return affine;
}

double single_step(const DicomPlane& plane, std::optional<double> step) {
  if (step && *step > 0) return *step;
  return plane.thickness && *plane.thickness > 0 ? *plane.thickness : 1;
}

SliceStack unplaced(const std::vector<DicomSlice>& slices, std::optional<double> step) {
  SliceStack stack;
  stack.order.resize(slices.size());
  std::iota(stack.order.begin(), stack.order.end(), std::size_t{0});
  const auto size = pixel_size(slices.front().plane, stack.problems);
  stack.affine[0][0] = size[1];
  stack.affine[1][1] = size[0];
  stack.affine[2][2] = single_step(slices.front().plane, step);
  return stack;
}

}  // namespace

SliceStack stack_slices(const std::vector<DicomSlice>& slices, std::optional<double> step) {
  ensure(!slices.empty());
  const DicomSlice& first = slices.front();
  if (slices.size() == 1 && !is_placed(first)) return unplaced(slices, step);
  for (const DicomSlice& slice : slices) check_alike(first, slice);
  const Directions directions = directions_of(first);
  SliceStack stack;
  stack.order.resize(slices.size());
  std::iota(stack.order.begin(), stack.order.end(), std::size_t{0});
  const auto height = [&](std::size_t i) { return dot(*slices[i].plane.position, directions.normal); };
  std::stable_sort(stack.order.begin(), stack.order.end(),
                   [&](std::size_t a, std::size_t b) { return height(a) < height(b); });
  const Vector origin = *slices[stack.order.front()].plane.position;
  Vector between = directions.normal * single_step(first.plane, step);
  if (slices.size() > 1) {
    check_steps(slices, stack.order, directions.normal);
    between =
        (*slices[stack.order.back()].plane.position - origin) * (1 / static_cast<double>(slices.size() - 1));
  }
  const auto size = pixel_size(first.plane, stack.problems);
  stack.affine = to_ras({directions.along_row * size[1], directions.along_column * size[0], between}, origin);
  return stack;
}

}  // namespace larmor
