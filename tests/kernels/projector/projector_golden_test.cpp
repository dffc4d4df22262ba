// The projector against closed-form line integrals (golden/drr): a sphere, a box, ellipsoids in ellipsoids.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/base/json.h"
#include "larmor/device/tensors/tensor_file.h"
#include "larmor/kernels/projector/projector.h"

#include "tests/support/shared_data.h"

namespace larmor::testing {
namespace {

using Place = std::array<double, 3>;

/// An ellipsoid, or a box, with values of `mu` inside.
struct Solid {
  bool is_box = false;
  Place middle{}, half{};  // half: semi-axes, or half the edges
  double degrees = 0, mu = 0;

  Place to_body(const Place& direction) const {
    const double c = std::cos(degrees * M_PI / 180), s = std::sin(degrees * M_PI / 180);
    return {c * direction[0] + s * direction[1], -s * direction[0] + c * direction[1], direction[2]};
  }

  /// How far the line from + t along (a unit vector) runs within.
  double length_within(const Place& from, const Place& along) const {
    const Place p = to_body({from[0] - middle[0], from[1] - middle[1], from[2] - middle[2]}),
                d = to_body(along);
    if (is_box) {
      double enters = -1e30, leaves = 1e30;
      for (size_t i = 0; i < 3; ++i) {
        if (d[i] == 0 && std::abs(p[i]) > half[i]) return 0;
        if (d[i] == 0) continue;
        const double one = (-half[i] - p[i]) / d[i], other = (half[i] - p[i]) / d[i];
        enters = std::max(enters, std::min(one, other));
        leaves = std::min(leaves, std::max(one, other));
      }
      return std::max(leaves - enters, 0.0);
    }
    double a = 0, b = 0, c = -1;
    for (size_t i = 0; i < 3; ++i) {
      a += d[i] * d[i] / half[i] / half[i];
      b += d[i] * p[i] / half[i] / half[i];
      c += p[i] * p[i] / half[i] / half[i];
    }
    return b * b > a * c ? 2 * std::sqrt(b * b - a * c) / a : 0;
  }

  /// The share of a voxel with edge `spacing` that lies within: exact of a box along the axes, of 6^3 points
  /// where an ellipsoid's surface passes by.
  double share_of(const Place& voxel, double spacing) const {
    const Place p = to_body({voxel[0] - middle[0], voxel[1] - middle[1], voxel[2] - middle[2]});
    if (is_box) {
      double share = 1;
      for (size_t i = 0; i < 3; ++i)
        share *= std::clamp((half[i] + spacing / 2 - std::abs(p[i])) / spacing, 0.0, 1.0);
      return share;
    }
    const auto radius = [this](const Place& at) {
      return std::sqrt(std::pow(at[0] / half[0], 2) + std::pow(at[1] / half[1], 2) +
                       std::pow(at[2] / half[2], 2));
    };
    const double reach = spacing / std::min({half[0], half[1], half[2]});
    const double middle_radius = radius(p);
    if (std::abs(middle_radius - 1) > reach) return middle_radius < 1 ? 1 : 0;
    constexpr int points = 6;
    int within = 0;
    for (int i = 0; i < points * points * points; ++i) {
      const auto shift = [&](int index) { return ((index + 0.5) / points - 0.5) * spacing; };
      const Place moved = to_body({voxel[0] - middle[0] + shift(i % points),
                                   voxel[1] - middle[1] + shift(i / points % points),
                                   voxel[2] - middle[2] + shift(i / points / points)});
      within += radius(moved) < 1 ? 1 : 0;
    }
    return static_cast<double>(within) / (points * points * points);
  }
};

struct Scene {
  Json config;
  NamedTensors tensors;

  std::vector<Solid> solids(const std::string& phantom) const {
    const auto place = [](const Json& json) { return json.get<Place>(); };
    if (phantom == "sphere") {
      const Json& sphere = config.at("sphere");
      const double r = sphere.at("radius").get<double>();
      return {{.middle = place(sphere.at("centre")), .half = {r, r, r}, .mu = sphere.at("mu").get<double>()}};
    }
    if (phantom == "box") {
      const Json& box = config.at("box");
      const Place low = place(box.at("low")), high = place(box.at("high"));
      Solid solid{.is_box = true, .mu = box.at("mu").get<double>()};
      for (size_t i = 0; i < 3; ++i) {
        solid.middle[i] = (low[i] + high[i]) / 2;
        solid.half[i] = (high[i] - low[i]) / 2;
      }
      return {solid};
    }
    std::vector<Solid> all;
    for (const Json& one : config.at("ellipsoids"))
      all.push_back({.middle = place(one.at("centre")),
                     .half = place(one.at("axes")),
                     .degrees = one.at("degrees").get<double>(),
                     .mu = one.at("mu").get<double>()});
    return all;
  }

  RadiographView view(const std::string& beam, const std::string& name) const {
    return {.beam = beam == "cone" ? Beam::cone : Beam::parallel,
            .degrees = config.at("angles").at(name).get<double>(),
            .pixels = {config.at("rows").get<int64_t>(), config.at("columns").get<int64_t>()},
            .spacing = config.at("spacing_" + beam).get<std::array<double, 2>>(),
            .source_to_isocentre = config.at("source_to_isocentre").get<double>(),
            .source_to_detector = config.at("source_to_detector").get<double>()};
  }
};

Scene read_scene() {
  Metadata metadata;
  Scene scene;
  scene.tensors = read_tensors(shared_golden() / "drr.safetensors", &metadata);
  scene.config = Json::parse(metadata.at("config"));
  return scene;
}

struct Drawn {
  at::Tensor voxels;  // [1, x, y, z] float64
  VoxelPositions positions{};
};

Drawn draw_solids(const std::vector<Solid>& solids, double spacing) {
  const Place half{90, 75, 100};
  std::array<int64_t, 3> size{};
  Drawn drawn;
  for (size_t i = 0; i < 3; ++i) {
    size[i] = static_cast<int64_t>(2 * half[i] / spacing);
    drawn.positions[i][i] = spacing;
    drawn.positions[i][3] = -0.5 * spacing * static_cast<double>(size[i] - 1);
  }
  drawn.positions[3][3] = 1;
  drawn.voxels = at::zeros({1, size[0], size[1], size[2]}, at::kDouble);
  auto* voxels = drawn.voxels.mutable_data_ptr<double>();
  for (int64_t i = 0; i < drawn.voxels.numel(); ++i) {
    const std::array<int64_t, 3> index{i / size[1] / size[2], i / size[2] % size[1], i % size[2]};
    Place place{};
    for (size_t axis = 0; axis < 3; ++axis)
      place[axis] = drawn.positions[axis][3] + spacing * static_cast<double>(index[axis]);
    for (const Solid& solid : solids) voxels[i] += solid.mu * solid.share_of(place, spacing);
  }
  return drawn;
}

/// Which solids the ray of each pixel meets, as bits: it changes where their silhouettes are.
at::Tensor shadows(const std::vector<Solid>& solids, const RadiographView& view) {
  const at::Tensor bits = at::zeros({view.pixels[0], view.pixels[1]}, at::kLong);
  const double angle = view.degrees * M_PI / 180, sine = std::sin(angle), cosine = std::cos(angle);
  const bool cone = view.beam == Beam::cone;
  for (int64_t r = 0; r < view.pixels[0]; ++r) {
    for (int64_t c = 0; c < view.pixels[1]; ++c) {
      const double across =
          (static_cast<double>(c) - 0.5 * static_cast<double>(view.pixels[1] - 1)) * view.spacing[1];
      const double down =
          (static_cast<double>(r) - 0.5 * static_cast<double>(view.pixels[0] - 1)) * view.spacing[0];
      const Place offset{-cosine * across, sine * across, -down}, beam{sine, cosine, 0};
      Place from = offset, along = beam;
      if (cone) {
        double length = 0;
        for (size_t i = 0; i < 3; ++i) {
          from[i] = -view.source_to_isocentre * beam[i];
          along[i] = view.source_to_detector * beam[i] + offset[i];
          length += along[i] * along[i];
        }
        for (double& part : along) part /= std::sqrt(length);
      }
      int64_t met = 0;
      for (size_t i = 0; i < solids.size(); ++i)
        met |= solids[i].length_within(from, along) > 0 ? int64_t{1} << i : 0;
      bits[r][c].fill_(met);
    }
  }
  return bits;
}

/// [rows, columns] bool: no silhouette within two pixels.
at::Tensor far_from_silhouettes(const at::Tensor& shadows) {
  const at::Tensor image = shadows.to(at::kDouble).view({1, 1, shadows.size(0), shadows.size(1)});
  const at::Tensor most = at::max_pool2d(image, {5, 5}, {1, 1}, {2, 2});
  const at::Tensor least = -at::max_pool2d(-image, {5, 5}, {1, 1}, {2, 2});
  return most.eq(least).view(shadows.sizes());
}

struct Errors {
  double mean = 0, largest = 0;  // of the maximum; largest: far from silhouettes
};

Errors errors_of(const Scene& scene, const std::string& phantom, const std::string& beam,
                 const std::string& name, const Drawn& drawn) {
  const RadiographView view = scene.view(beam, name);
  const at::Tensor golden = scene.tensors.at(phantom + "/" + beam + "/" + name);
  const at::Tensor image =
      project(drawn.voxels, ray_geometry({view}, drawn.positions), view.pixels[0], view.pixels[1])[0][0];
  const double most = golden.abs().max().item<double>();
  const at::Tensor error = (image - golden).abs() / most;
  const at::Tensor far = far_from_silhouettes(shadows(scene.solids(phantom), view));
  EXPECT_GT(far.sum().item<int64_t>(), far.numel() / 3);
  return {error.mean().item<double>(), error.masked_select(far).max().item<double>()};
}

TEST(ProjectorGolden, ProjectionsAreTheClosedFormsAndFinerVoxelsComeNearer) {
  if (shared_golden().empty()) GTEST_SKIP() << "no golden files beside the project";
  const Scene scene = read_scene();
  for (const std::string phantom : {"sphere", "box", "ellipsoids"}) {
    const Drawn coarse = draw_solids(scene.solids(phantom), 4),
                middle = draw_solids(scene.solids(phantom), 2), fine = draw_solids(scene.solids(phantom), 1);
    for (const std::string beam : {"parallel", "cone"}) {
      for (const std::string name : {"frontal", "lateral", "oblique"}) {
        SCOPED_TRACE(phantom + ", " + beam + ", " + name);
        const Errors at_4 = errors_of(scene, phantom, beam, name, coarse);
        const Errors at_2 = errors_of(scene, phantom, beam, name, middle);
        const Errors at_1 = errors_of(scene, phantom, beam, name, fine);
        EXPECT_LE(at_1.largest, 0.01);
        EXPECT_LT(at_2.mean, at_4.mean);
        EXPECT_LT(at_1.mean, at_2.mean);
        RecordProperty(phantom + "_" + beam + "_" + name, std::to_string(at_1.largest));
      }
    }
  }
}

}  // namespace
}  // namespace larmor::testing
