#include "workloads/xray_to_ct/data/chest_phantom.h"

#include <algorithm>
#include <cmath>

#include <ATen/ops/full.h>

#include "larmor/base/ensure.h"
#include "larmor/base/seed.h"

#include "workloads/xray_to_ct/data/pair_config.h"

namespace larmor::xray_to_ct {
namespace {

using Point = std::array<double, 3>;

namespace hu {
constexpr double air = -1000, fat = -100, muscle = 45, blood = 40, liver = 60, bone = 380, vertebra = 280;
}  // namespace hu

/// What tells one chest from another. Lengths in mm.
struct Build {
  double half_width, half_depth;  // of the skin
  double fat;                     // its thickness
  double lung_height, diaphragm;  // half of the lungs' height; the z of the right dome
  double heart, heart_shift;      // radius; how far to the left
  double rib_slope;               // how far a rib falls from back to front
  double lung_hu;
};

class ChestDraws {
 public:
  explicit ChestDraws(Key key) : draws_(key) {}
  double between(double low, double high) { return low + (high - low) * draws_.uniform(); }
  int64_t below(uint64_t limit) { return static_cast<int64_t>(draws_.below(limit)); }

 private:
  Draws draws_;
};

Build draw_build(ChestDraws& draws) {
  const double size = draws.between(0.88, 1.1);
  return {.half_width = 165 * size * draws.between(0.95, 1.05),
          .half_depth = 112 * size * draws.between(0.9, 1.12),
          .fat = draws.between(6, 20),
          .lung_height = 118 * size * draws.between(0.92, 1.08),
          .diaphragm = -88 * size + draws.between(-15, 20),
          .heart = 50 * size * draws.between(0.85, 1.3),
          .heart_shift = draws.between(14, 32),
          .rib_slope = draws.between(35, 75),
          .lung_hu = draws.between(-890, -800)};
}

class ChestBuilder {
 public:
  explicit ChestBuilder(ChestDraws& draws) : draws_(draws), build_(draw_build(draws)) {}

  std::vector<ChestPart> take() {
    trunk();
    lungs();
    mediastinum();
    spine();
    rib_cage();
    nodules();
    return std::move(parts_);
  }

 private:
  void put(const Point& middle, const Point& radii, double value) {
    parts_.push_back({.middle = middle, .radii = radii, .hu = value});
  }

  void trunk() {
    const double width = build_.half_width, depth = build_.half_depth;
    put({0, 0, -40}, {width, depth, 330}, hu::fat);
    put({0, 0, -40}, {width - build_.fat, depth - build_.fat, 325}, hu::muscle);
  }

  void lungs() {
    for (size_t side = 0; side < 2; ++side) {
      const double sign = side == 0 ? 1 : -1;  // the right one is the shorter
      const Point middle{sign * 0.43 * build_.half_width, -6, 12 + (side == 0 ? 4.0 : 0.0)};
      const Point radii{0.37 * build_.half_width, 0.7 * build_.half_depth, build_.lung_height};
      put(middle, radii, build_.lung_hu + draws_.between(-15, 15));
      lung_middles_[side] = middle;
      lung_radii_ = radii;
    }
    // The domes of the diaphragm: the liver on the right, the spleen and the stomach on the left.
    const double width = 0.46 * build_.half_width, depth = 0.74 * build_.half_depth;
    put({0.43 * build_.half_width, -2, build_.diaphragm - 60}, {width, depth, 70}, hu::liver);
    put({-0.43 * build_.half_width, -2, build_.diaphragm - 74}, {width, depth, 68}, hu::muscle);
    if (draws_.between(0, 1) < 0.5)
      put({-0.4 * build_.half_width, 20, build_.diaphragm - 40}, {24, 20, 16}, hu::air);
  }

  void mediastinum() {
    const double heart = build_.heart;
    put({0, -8, 60}, {26, 0.55 * build_.half_depth, 90}, hu::muscle);
    put({-build_.heart_shift, 18, build_.diaphragm + 0.82 * heart}, {1.05 * heart, 0.8 * heart, 0.95 * heart},
        hu::blood);
    put({-16, 2, 62}, {15, 22, 16}, hu::blood);                            // the arch of the aorta
    put({-20, -0.52 * build_.half_depth, -60}, {12, 12, 120}, hu::blood);  // its descending part
    put({2, -12, 110}, {8, 8, 62}, hu::air);                               // the airway
    for (const double sign : {1.0, -1.0})
      put({sign * 34, -8, 8}, {draws_.between(9, 15), 13, draws_.between(14, 22)}, hu::blood);  // hila
  }

  void spine() {
    const double behind = -0.68 * build_.half_depth;
    for (double z = -195; z <= 200; z += 26) {
      put({0, behind, z}, {17, 15, 11}, hu::vertebra);
      put({0, behind - 24, z - 6}, {4, 12, 7}, hu::bone);
    }
  }

  /// Beads of bone from one end of `path` (of a share from 0 to 1) to the other.
  template <class Path>
  void beads(const Path& path, double length, double radius, double value) {
    const auto count = static_cast<int>(std::ceil(length / radius));
    for (int i = 0; i <= count; ++i)
      put(path(static_cast<double>(i) / count), {radius, radius, radius}, value);
  }

  void rib_cage() {
    const double width = build_.half_width - build_.fat - 9, depth = build_.half_depth - build_.fat - 9;
    const double apart = build_.lung_height * 2 / 9.5;
    for (int rib = 0; rib < 10; ++rib) {
      const double top = 12 + build_.lung_height - apart * rib + build_.rib_slope * 0.35;
      // The upper ribs are the shorter ones, the lower ones do not reach the front.
      const double narrow = std::min(1.0, 0.62 + 0.11 * rib), reach = rib < 7 ? 0.93 : 0.72;
      for (const double sign : {1.0, -1.0}) {
        const auto path = [&](double share) -> Point {
          const double angle = M_PI * (0.06 + (reach - 0.06) * share);
          return {sign * narrow * width * std::sin(angle), -depth * std::cos(angle),
                  top - build_.rib_slope * share};
        };
        beads(path, 2.4 * narrow * width, 5, hu::bone);
      }
    }
    beads([&](double share) -> Point { return {0, depth, 95 - 140 * share}; }, 140, 7, hu::vertebra);
    for (const double sign : {1.0, -1.0}) {
      const auto collar = [&](double share) -> Point {
        return {sign * (12 + 0.75 * width * share), depth - 8 - 50 * share, 112 + 26 * share};
      };
      beads(collar, 0.85 * width, 6, hu::bone);
    }
  }

  void nodules() {
    const int64_t count = draws_.below(4);
    for (int64_t i = 0; i < count; ++i) {
      const auto side = static_cast<size_t>(draws_.below(2));
      Point middle = lung_middles_[side];
      for (size_t axis = 0; axis < 3; ++axis) middle[axis] += lung_radii_[axis] * draws_.between(-0.5, 0.5);
      middle[2] += 0.25 * build_.lung_height;  // clear of the diaphragm
      const double radius = draws_.between(5, 15);
      put(middle, {radius, radius, radius}, draws_.between(0, 90));
    }
  }

  ChestDraws& draws_;
  const Build build_;
  std::vector<ChestPart> parts_;
  std::array<Point, 2> lung_middles_{};
  Point lung_radii_{};
};

struct Range1 {
  int64_t first, end;
};

/// A grid's voxels along one axis, as positions in mm that the axis's index gives.
struct CubeAxis {
  double start, step;
  int64_t size;

  double at(int64_t index) const { return start + step * static_cast<double>(index); }
  Range1 around(double middle, double reach) const {
    const double one = (middle - reach - start) / step, other = (middle + reach - start) / step;
    const double most = static_cast<double>(size);
    return {static_cast<int64_t>(std::clamp(std::floor(std::min(one, other)), 0.0, most)),
            static_cast<int64_t>(std::clamp(std::ceil(std::max(one, other)) + 1, 0.0, most))};
  }
};

void draw_part(const ChestPart& part, const std::array<CubeAxis, 3>& axes, float* voxels) {
  const double spacing = std::abs(axes[0].step);
  const double half_least = std::min({part.radii[0], part.radii[1], part.radii[2]}) / 2;
  // Axes are depth, height, width; the part's are x, y, z.
  constexpr size_t world[3] = {1, 2, 0};
  std::array<Range1, 3> ranges{};
  for (size_t axis = 0; axis < 3; ++axis)
    ranges[axis] = axes[axis].around(part.middle[world[axis]], part.radii[world[axis]] + spacing);
  const auto square = [&](size_t axis, int64_t index) {
    const double away = (axes[axis].at(index) - part.middle[world[axis]]) / part.radii[world[axis]];
    return away * away;
  };
  for (int64_t d = ranges[0].first; d < ranges[0].end; ++d) {
    for (int64_t h = ranges[1].first; h < ranges[1].end; ++h) {
      const double so_far = square(0, d) + square(1, h);
      float* line = voxels + (d * axes[1].size + h) * axes[2].size;
      for (int64_t w = ranges[2].first; w < ranges[2].end; ++w) {
        // About how many mm the voxel lies under the surface; best near it.
        const double depth = (1 - so_far - square(2, w)) * half_least;
        const auto cover = static_cast<float>(std::clamp(depth / spacing + 0.5, 0.0, 1.0));
        line[w] += cover * (static_cast<float>(part.hu) - line[w]);
      }
    }
  }
}

}  // namespace

std::vector<ChestPart> chest_parts(uint64_t seed, int64_t number) {
  ChestDraws draws(make_key(seed, 0, static_cast<uint64_t>(number), "chest phantom"));
  return ChestBuilder(draws).take();
}

Volume draw_chest(const std::vector<ChestPart>& parts, double extent, int64_t size) {
  ensure(size > 0 && extent > 0);
  const VoxelPositions positions = cube_positions(extent, size);
  at::Tensor voxels = at::full({1, size, size, size}, hu::air, at::kFloat);
  const std::array<CubeAxis, 3> axes{CubeAxis{positions[1][3], positions[1][0], size},
                                     CubeAxis{positions[2][3], positions[2][1], size},
                                     CubeAxis{positions[0][3], positions[0][2], size}};
  for (const ChestPart& part : parts) draw_part(part, axes, voxels.mutable_data_ptr<float>());
  return {.voxels = voxels, .affine = positions};
}

}  // namespace larmor::xray_to_ct
