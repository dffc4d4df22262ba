#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/ops/pad.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/transforms/mask_name.h"
#include "larmor/transforms/transform_catalogue.h"
#include "larmor/transforms/transforms.h"

namespace larmor {

namespace {

/// What a crop of `wanted` leaves of an image.
ExtentChange cropped(const Targets& targets, const GridSize& wanted) {
  return of_image(targets, [wanted](Extent& extent) { crop(extent, wanted); });
}

Transform centre_crop(Parameters& parameters) {
  const auto wanted = parameters.sizes("roi_size");
  const auto targets = parameters.targets();
  return {for_each_target(targets,
                          [wanted = std::vector<int64_t>(wanted.begin(), wanted.end())](LazyVolume& volume,
                                                                                        Interpolation) {
                            const auto size = crop_size(volume.size(), wanted);
                            volume.crop(center_corner(volume.size(), size), size);
                          }),
          cropped(targets, wanted)};
}

Transform random_crop(Parameters& parameters) {
  parameters.only("random_size", false);
  parameters.only("random_center", true);
  const auto wanted = parameters.sizes("roi_size");
  const auto targets = parameters.targets();
  auto run = [wanted = std::vector<int64_t>(wanted.begin(), wanted.end()), targets,
              purpose = parameters.purpose()](LazyVolumes& volumes, const ExampleKey& key) {
    for (auto& [name, volume] : volumes) {
      if (!targets.wants(name)) continue;
      auto draws = draws_for(key, purpose);  // anew: volumes of one size get the same corner
      const auto size = crop_size(volume.size(), wanted);
      std::vector<int64_t> corner(3);
      for (std::size_t axis = 0; axis < 3; ++axis) {
        const int64_t room = volume.size()[axis] - size[axis];
        corner[axis] = static_cast<int64_t>(draws.below(static_cast<uint64_t>(room) + 1));
      }
      volume.crop(corner, size);
    }
  };
  return {std::move(run), cropped(targets, wanted)};
}

/// Which of the samples is being made is part of what its draws depend on.
void read_number_of_samples(Parameters& parameters) {
  constexpr int64_t most = 4096;
  parameters.whole_or("num_samples", 1, 1, most);
}

Transform random_crop_samples(Parameters& parameters) {
  read_number_of_samples(parameters);
  return random_crop(parameters);
}

/// The volume that a step looks at besides those that it changes. The key label is for a label that is a
/// mask, too.
const LazyVolume& find_source(const LazyVolumes& volumes, const std::string& name, const char* step) {
  auto found = volumes.find(name);
  if (found == volumes.end() && name == "label") found = volumes.find(label_as_mask);
  if (found == volumes.end())
    fail(Exit::data, text(step, " looks at \"", name, "\", which this example has not"),
         "name a volume that it has, such as image");
  return found->second;
}

/// Of which voxels the centres of crops are drawn: those of a label that are not 0, and the others.
struct CentreRule {
  std::string label, image;    // `image` empty: every voxel that is not foreground is background
  double image_threshold = 0;  // the image is above it where there is background
  double foreground_share = 0.5;
  std::vector<int64_t> size;
  bool allow_smaller = false;
};

constexpr const char* label_crop_name = "RandCropByPosNegLabel";

/// [X, Y, Z], bool, contiguous. A label of several channels has one for the background before the others.
at::Tensor foreground_of(at::Tensor label) {
  if (label.size(0) > 1) label = label.narrow(0, 1, label.size(0) - 1);
  return label.ne(0).any(0).contiguous();
}

/// The index of the `number`th voxel, from 0, that is true. Requires: there are more of them than `number`.
GridSize voxel_among(const at::Tensor& flags, uint64_t number) {
  const bool* flag = flags.const_data_ptr<bool>();
  int64_t place = 0;
  while (!flag[place] || number-- > 0) ++place;
  return {place / flags.size(2) / flags.size(1), place / flags.size(2) % flags.size(1),
          place % flags.size(2)};
}

/// As MONAI's generate_pos_neg_label_crop_centers draws it: where there is no foreground the background, and
/// where there is no background the foreground.
GridSize draw_centre(const LazyVolumes& volumes, const CentreRule& rule, Draws& draws) {
  const at::Tensor foreground =
      foreground_of(find_source(volumes, rule.label, label_crop_name).volume().voxels);
  at::Tensor background = foreground.logical_not();
  if (!rule.image.empty()) {
    const at::Tensor image = find_source(volumes, rule.image, label_crop_name).volume().voxels;
    if (image.sizes().slice(1) != foreground.sizes())
      fail(Exit::data, text(label_crop_name, ": ", rule.image, " and ", rule.label, " are of two sizes"),
           "bring them onto one grid, or leave image_key out");
    background = background.logical_and(image.gt(rule.image_threshold).any(0)).contiguous();
  }
  const auto positive = static_cast<uint64_t>(foreground.sum().item<int64_t>()),
             negative = static_cast<uint64_t>(background.sum().item<int64_t>());
  if (positive + negative == 0)
    fail(Exit::data,
         text(label_crop_name, ": ", rule.label, " has no foreground, and no voxel of ", rule.image,
              " is above ", rule.image_threshold),
         "leave the file out, or lower image_threshold");
  const double share = positive == 0 ? 0 : negative == 0 ? 1 : rule.foreground_share;
  return draws.uniform() < share ? voxel_among(foreground, draws.below(positive))
                                 : voxel_among(background, draws.below(negative));
}

/// MONAI's correct_crop_centers: a crop that would reach over the border is moved inside.
std::vector<int64_t> corner_around(const GridSize& centre, const GridSize& present,
                                   const std::vector<int64_t>& size) {
  std::vector<int64_t> corner(3);
  for (std::size_t axis = 0; axis < 3; ++axis)
    corner[axis] = std::clamp<int64_t>(centre[axis] - size[axis] / 2, 0, present[axis] - size[axis]);
  return corner;
}

void check_fits(const GridSize& present, const std::vector<int64_t>& wanted) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (wanted[axis] <= present[axis]) continue;
    fail(Exit::data,
         text(label_crop_name, ": a crop of ", wanted[axis], " voxels is longer than the image, which has ",
              present[axis], " along that axis"),
         "put SpatialPad with the same spatial_size before it, or say allow_smaller: true");
  }
}

CentreRule centre_rule(Parameters& parameters) {
  CentreRule rule;
  rule.label = parameters.word("label_key");
  if (parameters.find("image_key") != nullptr) rule.image = parameters.word("image_key");
  rule.image_threshold = parameters.number_or("image_threshold", 0, -1e30, 1e30);
  const double positive = parameters.number_or("pos", 1, 0, 1e30),
               negative = parameters.number_or("neg", 1, 0, 1e30);
  if (positive + negative == 0) parameters.refuse("pos and neg are both 0; one of them has to be above");
  rule.foreground_share = positive / (positive + negative);
  const auto size = parameters.sizes("spatial_size");
  rule.size = {size.begin(), size.end()};
  rule.allow_smaller = parameters.flag("allow_smaller", false);
  return rule;
}

Transform label_crop(Parameters& parameters) {
  for (const char* const name : {"fg_indices_key", "bg_indices_key"}) parameters.only(name, Json());
  read_number_of_samples(parameters);
  const auto targets = parameters.targets();
  const CentreRule rule = centre_rule(parameters);
  auto run = [rule, targets, purpose = parameters.purpose()](LazyVolumes& volumes, const ExampleKey& key) {
    auto draws = draws_for(key, purpose);
    const GridSize present = find_source(volumes, rule.label, label_crop_name).size();
    if (!rule.allow_smaller) check_fits(present, rule.size);
    const auto size = crop_size(present, rule.size);
    const auto corner = corner_around(draw_centre(volumes, rule, draws), present, size);
    for (auto& [name, volume] : volumes) {
      if (!targets.wants(name)) continue;
      if (volume.size() != present)
        fail(Exit::data, text(label_crop_name, ": ", name, " and ", rule.label, " are of two sizes"),
             "bring them onto one grid, or say with keys which volumes it is for");
      volume.crop(corner, size);
    }
  };
  GridSize wanted{};
  std::copy(rule.size.begin(), rule.size.end(), wanted.begin());
  return {std::move(run), cropped(targets, wanted)};
}

/// Voxels before the first and behind the last, an axis each.
using Border = std::array<std::pair<int64_t, int64_t>, 3>;

struct Filling {
  std::string mode = "constant";
  double value = 0;
};

Filling filling_in(Parameters& parameters) {
  Filling filling;
  filling.mode = parameters.word_or("mode", "constant", {"constant", "edge", "replicate", "reflect"});
  if (filling.mode == "edge") filling.mode = "replicate";  // NumPy's word for it
  if (filling.mode == "constant") filling.value = parameters.number_or("value", 0, -1e30, 1e30);
  return filling;
}

void pad(LazyVolume& volume, const Border& border, const Filling& filling) {
  std::vector<int64_t> widths;  // the last axis first
  Affine to_present = identity_affine();
  for (std::size_t axis = 3; axis-- > 0;) {
    widths.insert(widths.end(), {border[axis].first, border[axis].second});
    to_present[axis][3] = -static_cast<double>(border[axis].first);
  }
  if (std::all_of(widths.begin(), widths.end(), [](int64_t width) { return width == 0; })) return;
  const auto padded = [&](const at::Tensor& voxels) {
    if (filling.mode == "constant") return at::pad(voxels, widths, "constant", filling.value);
    return at::pad(voxels, widths, filling.mode);
  };
  volume.change(padded, to_present);
}

Transform spatial_pad(Parameters& parameters) {
  const auto wanted = parameters.sizes("spatial_size");
  const bool symmetric = parameters.word_or("method", "symmetric", {"symmetric", "end"}) == "symmetric";
  const auto targets = parameters.targets();
  auto run = for_each_target(
      targets, [wanted, symmetric, filling = filling_in(parameters)](LazyVolume& volume, Interpolation) {
        Border border;
        for (std::size_t axis = 0; axis < 3; ++axis) {
          const int64_t missing = std::max<int64_t>(wanted[axis] - volume.size()[axis], 0);
          const int64_t before = symmetric ? missing / 2 : 0;
          border[axis] = {before, missing - before};
        }
        pad(volume, border, filling);
      });
  return {std::move(run), of_image(targets, [wanted](Extent& extent) { pad(extent, wanted); })};
}

/// First and one behind the last voxel, an axis each.
using Box = std::array<std::pair<int64_t, int64_t>, 3>;

/// Around the voxels above 0 of any channel; nothing when there are none.
Box box_around_foreground(const at::Tensor& voxels) {
  const at::Tensor positive = voxels.gt(0).any(0);
  Box box{};
  for (int64_t axis = 0; axis < 3; ++axis) {
    std::vector<int64_t> others{0, 1, 2};
    others.erase(others.begin() + axis);
    const at::Tensor places = positive.any(others).nonzero();
    if (places.numel() == 0) return {};
    box[static_cast<std::size_t>(axis)] = {places.min().item<int64_t>(), places.max().item<int64_t>() + 1};
  }
  return box;
}

struct ForegroundRule {
  std::string source;
  std::array<int64_t, 3> margin{}, divisor{};
  bool allow_smaller = false;
};

Box foreground_box(const LazyVolume& source, const ForegroundRule& rule) {
  Box box = box_around_foreground(source.volume().voxels);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    auto& [low, high] = box[axis];
    if (high == 0)
      fail(Exit::data, "no voxel is above 0, so there is no foreground to crop to",
           "leave the file out, or drop CropForeground");
    low -= rule.margin[axis];
    high += rule.margin[axis];
    if (rule.allow_smaller) {
      low = std::max<int64_t>(low, 0);
      high = std::min(high, source.size()[axis]);
    }
    const int64_t size = high - low, divisor = rule.divisor[axis];
    const int64_t divisible = (size + divisor - 1) / divisor * divisor;
    low -= (divisible - size) / 2;
    high = low + divisible;
  }
  return box;
}

void crop_to(LazyVolume& volume, const Box& box, const Filling& filling) {
  std::vector<int64_t> corner(3), size(3);
  Border missing;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const auto [low, high] = box[axis];
    const int64_t present = volume.size()[axis];
    corner[axis] = std::clamp<int64_t>(low, 0, present - 1);
    size[axis] = std::clamp<int64_t>(high, corner[axis] + 1, present) - corner[axis];
    missing[axis] = {std::max<int64_t>(-low, 0), std::max<int64_t>(high - present, 0)};
  }
  volume.crop(corner, size);
  pad(volume, missing, filling);
}

Transform crop_foreground(Parameters& parameters) {
  ForegroundRule rule;
  const auto targets = parameters.targets();
  rule.source = parameters.find("source_key") != nullptr ? parameters.word("source_key") : "image";
  if (parameters.find("margin") != nullptr) rule.margin = parameters.sizes("margin");
  rule.divisor = {1, 1, 1};
  if (parameters.find("k_divisible") != nullptr) rule.divisor = parameters.sizes("k_divisible");
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (rule.margin[axis] < 0 || rule.divisor[axis] < 1)
      parameters.refuse("margin has to be 0 or more, and k_divisible 1 or more");
  }
  rule.allow_smaller = parameters.flag("allow_smaller", false);
  auto run = [rule, targets, filling = filling_in(parameters)](LazyVolumes& volumes, const ExampleKey&) {
    const Box box = foreground_box(find_source(volumes, rule.source, "CropForeground"), rule);
    for (auto& [name, volume] : volumes) {
      if (targets.wants(name)) crop_to(volume, box, filling);
    }
  };
  // What it leaves goes by voxels.
  return {std::move(run), of_image(targets, [](Extent& extent) { extent.size = {}; })};
}

}  // namespace

const std::vector<KnownTransform>& crop_transforms() {
  static const std::vector<KnownTransform> known{{"CenterSpatialCrop", centre_crop},
                                                 {"RandSpatialCrop", random_crop, true},
                                                 {"RandSpatialCropSamples", random_crop_samples, true},
                                                 {label_crop_name, label_crop, true},
                                                 {"SpatialPad", spatial_pad},
                                                 {"CropForeground", crop_foreground}};
  return known;
}

}  // namespace larmor
