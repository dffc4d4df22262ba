#include "workloads/xray_to_ct/data/ct_volume.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <ATen/ATen.h>

#include "larmor/base/ensure.h"
#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/transforms/resample_like.h"
#include "larmor/transforms/sampling.h"
#include "larmor/transforms/transforms.h"

namespace larmor::xray_to_ct {
namespace {

constexpr double air = -1000;
/// The row of the affine, x, y or z, that each of the axes (depth, height, width) runs along.
constexpr size_t world_of[3] = {1, 2, 0};
constexpr const char* sides[3][2] = {{"back", "front"}, {"top", "bottom"}, {"right", "left"}};

double step_of(const Volume& ct, size_t axis) { return ct.affine[world_of[axis]][axis]; }
double start_of(const Volume& ct, size_t axis) { return ct.affine[world_of[axis]][3]; }
int64_t count_of(const Volume& ct, size_t axis) { return ct.voxels.size(static_cast<int64_t>(axis) + 1); }

bool is_straight(const Affine& affine) {
  for (size_t axis = 0; axis < 3; ++axis) {
    for (size_t row = 0; row < 3; ++row) {
      if (row != world_of[axis] &&
          std::abs(affine[row][axis]) > 1e-3 * std::abs(affine[world_of[axis]][axis]))
        return false;
    }
  }
  return true;
}

/// A straight grid of the same spacing around all of a tilted volume.
Volume straightened(const Volume& ct) {
  const auto spacing = spacing_of(ct.affine);
  std::array<double, 3> low{1e300, 1e300, 1e300}, high{-1e300, -1e300, -1e300};
  for (int corner = 0; corner < 8; ++corner) {
    std::array<double, 3> index{};
    for (size_t axis = 0; axis < 3; ++axis)
      index[axis] = ((corner >> axis) & 1) != 0 ? static_cast<double>(count_of(ct, axis) - 1) : 0;
    const auto place = position(ct.affine, index);
    for (size_t row = 0; row < 3; ++row) {
      low[row] = std::min(low[row], place[row]);
      high[row] = std::max(high[row], place[row]);
    }
  }
  Affine affine{};
  GridSize size{};
  for (size_t axis = 0; axis < 3; ++axis) {
    const size_t row = world_of[axis];
    const bool grows = axis == 0;  // height and width run against z and x
    affine[row][axis] = grows ? spacing[axis] : -spacing[axis];
    affine[row][3] = grows ? low[row] : high[row];
    size[axis] = static_cast<int64_t>(std::floor((high[row] - low[row]) / spacing[axis] + 1e-6)) + 1;
  }
  affine[3][3] = 1;
  const auto to_source = inverse(ct.affine);
  ensure(to_source.has_value());
  // Outside is 0: air.
  const at::Tensor voxels = sample(ct.voxels - air, compose(*to_source, affine),
                                   {.whole = size, .corner = {}, .size = size}, {.outside = Outside::zeros});
  return {.voxels = voxels + air, .affine = affine};
}

/// The share of one face's voxels that are denser than fat.
double body_on_face(const at::Tensor& voxels, int64_t axis, bool last) {
  const at::Tensor face = voxels.select(axis, last ? voxels.size(axis) - 1 : 0);
  return face.gt(-300).to(at::kDouble).mean().item<double>();
}

/// The mean index along an axis of the voxels that `mask` [D, H, W] marks; the middle where there are none.
double mean_index(const at::Tensor& mask, int64_t axis) {
  const std::vector<int64_t> others = axis == 0   ? std::vector<int64_t>{1, 2}
                                      : axis == 1 ? std::vector<int64_t>{0, 2}
                                                  : std::vector<int64_t>{0, 1};
  const at::Tensor counts = mask.sum(others, false, at::kLong).to(at::kDouble);
  const double all = counts.sum().item<double>();
  if (all == 0) return 0.5 * static_cast<double>(mask.size(axis) - 1);
  return (counts * at::arange(mask.size(axis), at::kDouble)).sum().item<double>() / all;
}

/// The middle of the stretch of slices, as long as lungs are, that holds most voxels as thin as lungs. (Skin
/// and blankets have some everywhere.)
double middle_of_lungs(const at::Tensor& voxels, double spacing) {
  constexpr double height_of_lungs = 250;  // mm
  const at::Tensor counts = voxels.gt(-950).logical_and(voxels.lt(-600)).sum(at::IntArrayRef{0, 2});
  const int64_t slices = counts.size(0);
  const auto stretch = std::min(slices, static_cast<int64_t>(height_of_lungs / spacing));
  int64_t best = 0, most = -1, sum = 0;
  const auto* count = counts.const_data_ptr<int64_t>();
  for (int64_t i = 0; i < slices; ++i) {
    sum += count[i] - (i >= stretch ? count[i - stretch] : 0);
    if (i + 1 < stretch || sum <= most) continue;
    most = sum;
    best = i + 1 - stretch;
  }
  return static_cast<double>(best) + 0.5 * static_cast<double>(stretch - 1);
}

/// The integral from minus infinity to x of the weights that linear interpolation gives voxel 0.
double weight_below(double x) {
  if (x <= -1) return 0;
  if (x >= 1) return 1;
  return x < 0 ? 0.5 * (x + 1) * (x + 1) : 1 - 0.5 * (1 - x) * (1 - x);
}

/// [.., n, ..] along `axis` to [.., size, ..]: new voxel i is the mean of what lies from `from` + i * `width`
/// on, in old indices, over `width`, the old values joined by lines and zero beyond them.
at::Tensor averaged_along(const at::Tensor& voxels, int64_t axis, int64_t size, double from, double width) {
  const int64_t count = voxels.size(axis), inner = voxels.stride(axis),
                outer = voxels.numel() / count / inner;
  std::vector<int64_t> shape = voxels.sizes().vec();
  shape[static_cast<size_t>(axis)] = size;
  at::Tensor out = at::zeros(shape, voxels.options());
  const auto* source = voxels.const_data_ptr<float>();
  auto* target = out.mutable_data_ptr<float>();
  for (int64_t i = 0; i < size; ++i) {
    const double one = from + static_cast<double>(i) * width, other = one + width;
    const double low = std::min(one, other), high = std::max(one, other);
    const auto first = std::max<int64_t>(static_cast<int64_t>(std::floor(low)), 0);
    const auto last = std::min<int64_t>(static_cast<int64_t>(std::ceil(high)), count - 1);
    for (int64_t j = first; j <= last; ++j) {
      const double at = static_cast<double>(j);
      const auto weight =
          static_cast<float>((weight_below(high - at) - weight_below(low - at)) / (high - low));
      for (int64_t o = 0; o < outer; ++o) {
        const float* line = source + (o * count + j) * inner;
        float* sum = target + (o * size + i) * inner;
        for (int64_t k = 0; k < inner; ++k) sum[k] += weight * line[k];
      }
    }
  }
  return out;
}

void check_values(const at::Tensor& voxels) {
  const double least = voxels.min().item<double>(), most = voxels.max().item<double>();
  const double air_share = voxels.lt(-400).to(at::kDouble).mean().item<double>();
  const double body_share = voxels.gt(-200).to(at::kDouble).mean().item<double>();
  if (least >= -10000 && most <= 60000 && air_share >= 0.005 && body_share >= 0.01) return;
  fail(Exit::data,
       text("its values from ", fixed(least, 0), " to ", fixed(most, 0), " are not HU of a body in air: ",
            fixed(100 * air_share, 1), " % are below -400 and ", fixed(100 * body_share, 1), " % above -200"),
       "give a CT in Hounsfield units (air -1000, water 0), or leave the file out with data.exclude");
}

}  // namespace

Volume oriented_ct(const Volume& ct) {
  if (ct.voxels.size(0) != 1) {
    fail(Exit::data, text("has ", ct.voxels.size(0), " channels, and a CT has one"),
         "give a single volume in HU, or leave the file out with data.exclude");
  }
  Volume oriented = orient(ct, "AIL");
  if (!is_straight(oriented.affine)) oriented = straightened(oriented);
  oriented.voxels = oriented.voxels.to(at::kFloat).contiguous();
  return oriented;
}

void check_ct(const Volume& ct, const PairConfig& config) {
  check_values(ct.voxels);
  for (size_t axis = 0; axis < 3; ++axis) {
    const double spacing = std::abs(step_of(ct, axis));
    if (spacing <= config.most_spacing) continue;
    fail(Exit::data, text("its slices lie ", fixed(spacing, 1), " mm apart"),
         text("give a CT without gaps, or say data.most_spacing=", fixed(spacing, 1), " to take it"));
  }
  const double height = std::abs(step_of(ct, 1)) * static_cast<double>(count_of(ct, 1));
  if (height < config.least_height) {
    fail(Exit::data,
         text("shows ", fixed(height, 0), " mm along the body, and ", fixed(config.least_height, 0),
              " are wanted"),
         "give a CT of the whole chest, or say a smaller data.least_height");
  }
  constexpr double most_body_on_a_side = 0.2;
  for (const size_t axis : {size_t{0}, size_t{2}}) {
    for (const bool last : {false, true}) {
      const double share = body_on_face(ct.voxels[0], static_cast<int64_t>(axis), last);
      if (share <= most_body_on_a_side) continue;
      fail(Exit::data,
           text("does not cover the body: it is cut off at the ", sides[axis][last ? 1 : 0], ", where ",
                fixed(100 * share, 0), " % of the outermost voxels are body"),
           "give a CT whose field of view is wider than the body, or leave the file out with data.exclude");
    }
  }
}

Volume centred_ct(const Volume& ct, double extent) {
  const at::Tensor voxels = ct.voxels[0];
  Volume centred = ct;
  const at::Tensor body = voxels.gt(-200);
  for (size_t axis = 0; axis < 3; ++axis) {
    const auto i = static_cast<int64_t>(axis);
    double middle = 0.5 * static_cast<double>(count_of(ct, axis) - 1);
    const double length = std::abs(step_of(ct, axis)) * static_cast<double>(count_of(ct, axis));
    if (axis != 1) middle = mean_index(body, i);
    if (axis == 1 && length > extent) middle = middle_of_lungs(voxels, std::abs(step_of(ct, axis)));
    const double step = step_of(ct, axis);
    const double start = -middle * step;
    const double reach = extent / 2 / std::abs(step) + 1;  // one voxel more: the cube's edge lies between two
    const auto first = std::max<int64_t>(static_cast<int64_t>(std::ceil(middle - reach)), 0);
    const auto end =
        std::min<int64_t>(static_cast<int64_t>(std::floor(middle + reach)) + 1, count_of(ct, axis));
    centred.voxels = centred.voxels.slice(i + 1, first, end);
    centred.affine[world_of[axis]][3] = start + static_cast<double>(first) * step;
  }
  centred.voxels = centred.voxels.contiguous();
  return centred;
}

Volume in_cube(const Volume& ct, double extent, int64_t size) {
  const VoxelPositions cube = cube_positions(extent, size);
  const double edge = extent / static_cast<double>(size);
  at::Tensor voxels = (ct.voxels - air).contiguous();
  // The innermost axis last, when least is left: its lines are the slowest.
  for (const size_t axis : {size_t{0}, size_t{1}, size_t{2}}) {
    const double step = step_of(ct, axis), start = start_of(ct, axis);
    const double sign = axis == 0 ? 1 : -1;
    const double first_edge = cube[world_of[axis]][3] - sign * edge / 2;
    voxels = averaged_along(voxels, static_cast<int64_t>(axis) + 1, size, (first_edge - start) / step,
                            sign * edge / step);
  }
  return {.voxels = voxels + air, .affine = cube};
}

}  // namespace larmor::xray_to_ct
