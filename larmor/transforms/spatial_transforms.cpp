#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/ops/pad.h>
#include <ATen/ops/upsample_nearest3d.h>
#include <ATen/ops/upsample_trilinear3d.h>

#include "larmor/base/text.h"
#include "larmor/transforms/affine_draw.h"
#include "larmor/transforms/loops/area.h"
#include "larmor/transforms/transform_catalogue.h"
#include "larmor/transforms/transforms.h"

namespace larmor {

namespace {

Transform orientation(Parameters& parameters) {
  const std::string axcodes = parameters.word("axcodes");
  check_axcodes(axcodes);
  const auto targets = parameters.targets();
  return {for_each_target(targets, [axcodes](LazyVolume& volume, Interpolation) { volume.orient(axcodes); }),
          of_image(targets, [axcodes](Extent& extent) { orient(extent, axcodes); })};
}

Transform spacing(Parameters& parameters) {
  const auto pixdim = parameters.numbers("pixdim");
  const auto targets = parameters.targets(/*samples=*/true);
  parameters.only("padding_mode", "border");
  for (const char* const name : {"align_corners", "diagonal", "scale_extent", "recompute_affine"})
    parameters.only(name, false);
  auto run = for_each_target(targets, [pixdim](LazyVolume& volume, Interpolation interpolation) {
    volume.resample(pixdim, interpolation);
  });
  return {std::move(run), of_image(targets, [pixdim](Extent& extent) { respace(extent, pixdim); })};
}

// ---- flips and quarter turns

/// The axes of `name` (one, a list, all without it), counted from the end when negative.
std::array<bool, 3> flipped_axes(Parameters& parameters, const std::string& name) {
  const Json* const given = parameters.find(name);
  if (given == nullptr || given->is_null()) return {true, true, true};
  std::array<bool, 3> flipped{};
  for (const Json& axis : given->is_array() ? *given : Json::array({*given})) {
    if (!axis.is_number_integer() || axis < -3 || axis > 2)
      parameters.refuse(text(name, " is ", given->dump(), "; axes are 0, 1 and 2"));
    flipped[static_cast<std::size_t>((axis.get<int>() + 3) % 3)] = true;
  }
  return flipped;
}

Transform random_flip(Parameters& parameters) {
  Turn turn;
  turn.flip = flipped_axes(parameters, "spatial_axis");
  return at_random(
      parameters, parameters.targets(), [turn](Draws&) { return turn; },
      [](LazyVolume& volume, const Turn& drawn, Interpolation) { volume.turn(drawn); });
}

/// `count` quarter turns from axis `first` to axis `second`, as torch.rot90 turns.
Turn quarter_turns(int64_t count, std::size_t first, std::size_t second) {
  Turn turn;
  if (count % 4 == 2) turn.flip[first] = turn.flip[second] = true;
  if (count % 2 == 1) {
    std::swap(turn.order[first], turn.order[second]);
    turn.flip[count % 4 == 1 ? first : second] = true;
  }
  return turn;
}

/// Axes of two sizes are exchanged in some draws alone: the extent is told as it is in the others.
Transform random_quarter_turn(Parameters& parameters) {
  const auto most = parameters.whole_or("max_k", 3, 1, 3);
  std::array<std::size_t, 2> plane{0, 1};
  if (const Json* const axes = parameters.find("spatial_axes"); axes != nullptr) {
    const auto is_axis = [](const Json& axis) { return axis.is_number_integer() && axis >= 0 && axis <= 2; };
    if (!axes->is_array() || axes->size() != 2 || !is_axis((*axes)[0]) || !is_axis((*axes)[1]) ||
        (*axes)[0] == (*axes)[1])
      parameters.refuse(text("spatial_axes is ", axes->dump(), ", not two of 0, 1 and 2"));
    plane = {(*axes)[0].get<std::size_t>(), (*axes)[1].get<std::size_t>()};
  }
  return at_random(
      parameters, parameters.targets(),
      [most, plane](Draws& draws) {
        const auto count = static_cast<int64_t>(draws.below(static_cast<uint64_t>(most))) + 1;
        return quarter_turns(count, plane[0], plane[1]);
      },
      [](LazyVolume& volume, const Turn& drawn, Interpolation) { volume.turn(drawn); });
}

// ---- rotations and other affine maps about the centre

struct AffineRanges {
  std::vector<DrawRange> rotate, shear, translate, scale;
};

AffineDraw draw_affine(Draws& draws, const AffineRanges& ranges) {
  AffineDraw drawn;
  for (std::size_t i = 0; i < 3; ++i) drawn.rotate[i] = draw(draws, ranges.rotate[i]);
  for (std::size_t i = 0; i < 6; ++i) drawn.shear[i] = draw(draws, ranges.shear[i]);
  for (std::size_t i = 0; i < 3; ++i) drawn.translate[i] = draw(draws, ranges.translate[i]);
  for (std::size_t i = 0; i < 3; ++i) drawn.scale[i] = 1 + draw(draws, ranges.scale[i]);
  return drawn;
}

/// How the step that is made samples, and whether it may be joined to its neighbours.
struct Manner {
  Outside outside = Outside::border;
  bool lazy = true;
};

void map_about_centre(LazyVolume& volume, const AffineDraw& drawn, const GridSize& wanted,
                      const Manner& manner, Interpolation interpolation) {
  GridSize size{};
  for (std::size_t axis = 0; axis < 3; ++axis)
    size[axis] = wanted[axis] > 0 ? wanted[axis] : volume.size()[axis];
  if (!manner.lazy) volume.settle();
  const auto to_present = about_centres(matrix_of(drawn, volume.is_flat()), size, volume.size());
  volume.map(size, to_present, {interpolation, manner.outside});
  if (!manner.lazy) volume.settle();
}

Transform random_affine(Parameters& parameters) {
  AffineRanges ranges{.rotate = parameters.ranges("rotate_range", 3),
                      .shear = parameters.ranges("shear_range", 6),
                      .translate = parameters.ranges("translate_range", 3),
                      .scale = parameters.ranges("scale_range", 3)};
  GridSize size{-1, -1, -1};
  if (parameters.find("spatial_size") != nullptr) size = parameters.sizes("spatial_size");
  const Manner manner{parameters.outside("reflection"), parameters.flag("lazy", true)};
  parameters.ignore("cache_grid");
  const auto targets = parameters.targets(/*samples=*/true);
  auto run = at_random(
      parameters, targets, [ranges = std::move(ranges)](Draws& draws) { return draw_affine(draws, ranges); },
      [size, manner](LazyVolume& volume, const AffineDraw& drawn, Interpolation interpolation) {
        map_about_centre(volume, drawn, size, manner, interpolation);
      });
  return {std::move(run), of_image(targets, [size](Extent& extent) { resize(extent, size); })};
}

Transform random_rotation(Parameters& parameters) {
  const DrawRange none;
  const std::array<DrawRange, 3> ranges{parameters.range("range_x", none), parameters.range("range_y", none),
                                        parameters.range("range_z", none)};
  parameters.only("keep_size", true);  // examples of one batch have one size
  parameters.only("align_corners", false);
  const Manner manner{parameters.outside("border"), parameters.flag("lazy", true)};
  return at_random(
      parameters, parameters.targets(/*samples=*/true),
      [ranges](Draws& draws) {
        AffineDraw drawn;
        for (std::size_t i = 0; i < 3; ++i) drawn.rotate[i] = draw(draws, ranges[i]);
        return drawn;
      },
      [manner](LazyVolume& volume, const AffineDraw& drawn, Interpolation interpolation) {
        map_about_centre(volume, drawn, {-1, -1, -1}, manner, interpolation);
      });
}

// ---- sizes

/// torch.nn.functional.interpolate, without align_corners. [C, X, Y, Z]
at::Tensor interpolated(const at::Tensor& voxels, const GridSize& size, const std::string& mode) {
  if (mode == "area") return average(voxels, size);
  const auto batch = voxels.unsqueeze(0).contiguous();
  if (mode == "nearest") return at::upsample_nearest3d(batch, size).squeeze(0);
  return at::upsample_trilinear3d(batch, size, /*align_corners=*/false).squeeze(0);
}

std::string size_mode(Parameters& parameters) {
  parameters.only("align_corners", nullptr);
  parameters.only("anti_aliasing", false);
  const auto mode = parameters.word_or("mode", "area", {"area", "nearest", "trilinear", "bilinear"});
  return mode == "bilinear" ? "trilinear" : mode;
}

void change_size(LazyVolume& volume, const GridSize& size, const std::string& mode) {
  if (size == volume.size()) return;
  const auto to_present = between_faces(size, volume.size());
  volume.change([&](const at::Tensor& voxels) { return interpolated(voxels, size, mode); }, to_present);
}

Transform resize(Parameters& parameters) {
  const auto wanted = parameters.sizes("spatial_size");
  parameters.only("size_mode", "all");
  const auto mode = size_mode(parameters);
  const auto targets = parameters.targets();
  auto run = [wanted, mode, targets](LazyVolumes& volumes, const ExampleKey&) {
    for (auto& [name, volume] : volumes) {
      if (!targets.wants(name)) continue;
      GridSize size{};
      for (std::size_t axis = 0; axis < 3; ++axis)
        size[axis] = wanted[axis] > 0 ? wanted[axis] : volume.size()[axis];
      change_size(volume, size, is_mask(name) ? "nearest" : mode);
    }
  };
  return {std::move(run), of_image(targets, [wanted](Extent& extent) { resize(extent, wanted); })};
}

/// Zoomed by `factors`, then cut or filled to the size of before, about the centre.
void zoom(LazyVolume& volume, const std::array<double, 3>& factors, const std::string& mode,
          const std::string& filling) {
  const GridSize before = volume.size();
  GridSize zoomed{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const double size = std::floor(static_cast<double>(before[axis]) * factors[axis]);
    zoomed[axis] = before[axis] == 1 ? 1 : std::max<int64_t>(1, static_cast<int64_t>(size));
  }
  change_size(volume, zoomed, mode);
  std::vector<int64_t> widths, kept(3);
  Affine to_present = identity_affine();
  for (std::size_t axis = 3; axis-- > 0;) {
    const int64_t missing = std::max<int64_t>(before[axis] - zoomed[axis], 0);
    widths.insert(widths.end(), {missing / 2, missing - missing / 2});
    to_present[axis][3] = -static_cast<double>(missing / 2);
    kept[axis] = before[axis];
  }
  if (zoomed == before) return;
  volume.change([&](const at::Tensor& voxels) { return at::pad(voxels, widths, filling); }, to_present);
  volume.crop(center_corner(volume.size(), kept), kept);
}

Transform random_zoom(Parameters& parameters) {
  const auto factors_in = [&](const std::string& name, double otherwise) {
    return parameters.find(name) == nullptr ? std::array{otherwise, otherwise, otherwise}
                                            : parameters.numbers(name);
  };
  const auto least = factors_in("min_zoom", 0.9), most = factors_in("max_zoom", 1.1);
  const Json* const given = parameters.find("min_zoom");
  const bool is_shared = given == nullptr || !given->is_array() || given->size() == 1;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (!(least[axis] > 0 && least[axis] <= most[axis]))
      parameters.refuse("min_zoom has to be more than 0 and at most max_zoom");
  }
  parameters.only("keep_size", true);  // examples of one batch have one size
  const auto mode = size_mode(parameters);
  auto filling = parameters.word_or("padding_mode", "edge", {"edge", "replicate", "constant", "reflect"});
  if (filling == "edge") filling = "replicate";
  const auto targets = parameters.targets();
  return [=, probability = parameters.probability(), purpose = parameters.purpose()](LazyVolumes& volumes,
                                                                                     const ExampleKey& key) {
    auto draws = draws_for(key, purpose);
    if (draws.uniform() >= probability) return;
    std::array<double, 3> factors{};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const bool again = is_shared && axis > 0;
      factors[axis] = again ? factors[0] : draw(draws, {least[axis], most[axis]});
    }
    for (auto& [name, volume] : volumes) {
      if (targets.wants(name)) zoom(volume, factors, is_mask(name) ? "nearest" : mode, filling);
    }
  };
}

}  // namespace

const std::vector<KnownTransform>& spatial_transforms() {
  static const std::vector<KnownTransform> known{{"Orientation", orientation},
                                                 {"Spacing", spacing},
                                                 {"Resize", resize},
                                                 {"RandFlip", random_flip, true},
                                                 {"RandRotate90", random_quarter_turn, true},
                                                 {"RandRotate", random_rotation, true},
                                                 {"RandZoom", random_zoom, true},
                                                 {"RandAffine", random_affine, true}};
  return known;
}

}  // namespace larmor
