#include "workloads/xray_to_ct/data/pair_config.h"

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor::xray_to_ct {

void PairConfig::describe(Fields& f) {
  f.path("ct", ct, "folder of CT series and NIfTI files that `prepare` computes radiographs from");
  f.field("extent", extent, "edge in mm of the cube of the body that volumes show", Range{50, 2000});
  f.field("volume_size", volume_size, "voxels along an edge of the volumes that `prepare` writes",
          Range{8, 512});
  f.field("radiograph_size", radiograph_size, "pixels along an edge of a radiograph", Range{8, 4096});
  f.word("beam", beam, {"cone", "parallel"}, "rays of the radiographs: from a source, or side by side");
  f.field("source_to_isocentre", source_to_isocentre, "mm from the source to the middle of the cube",
          Range{100, 10000});
  f.field("source_to_detector", source_to_detector, "mm from the source to the detector", Range{100, 10000});
  f.field("hu_range", hu_range, "HU that become -1 and 1 in volumes; what lies beyond is clamped");
  f.field(
      "align_at_least", align_at_least,
      "correlation of a radiograph with the projection of its CT below which they do not belong together; "
      "0: not looked at",
      fraction);
  f.field("flip_vertical", flip_vertical, "radiographs that are read have their lowest row first");
  f.field("augmentation", augmentation, "whether training examples are mirrored and darkened at random");
  f.field("mirror", mirror, "share of the training examples whose patient is mirrored left to right",
          fraction);
  f.field("brightness", brightness,
          "how much darker a training example's radiographs may become, as a share of their brightness",
          fraction);
  f.field("faults", faults,
          "strength of the faults of real films (scatter, noise, gamma, collimation) in the radiographs of "
          "training "
          "examples; 0: none",
          fraction);
  f.field("least_height", least_height, "mm along the body that a CT has to show", at_least_zero);
  f.field("most_spacing", most_spacing, "mm that the slices of a CT may lie apart", at_least_zero);
}

void PairConfig::check(const RunConfig& config, int64_t count) const {
  const std::string& kind = config.data.kind;
  if (kind != pairs_kind && kind != "phantom") {
    fail(Exit::usage, text("data.kind is ", kind, ", and X-ray to CT needs radiographs with their CTs"),
         "say data.kind=pairs with data.folder, or data.kind=phantom for invented chests");
  }
  if (count != 1 && count != 2)
    fail(Exit::usage, text("a model of ", count, " views"), "take 1 (frontal) or 2 (and lateral)");
  if (hu_range.size() != 2 || !(hu_range[0] < hu_range[1]))
    fail(Exit::usage, "data.hu_range is no range", "give two numbers, the lower one first: [-1000, 3000]");
  if (beam == "cone" && source_to_isocentre <= extent)
    fail(
        Exit::usage,
        text("the source is ", source_to_isocentre, " mm from the middle of a cube with an edge of ", extent),
        "say a larger data.source_to_isocentre: the cube has to lie before the source");
  if (beam == "cone" && source_to_detector - source_to_isocentre < extent / 2)
    fail(Exit::usage,
         text("the detector is ", source_to_detector - source_to_isocentre,
              " mm behind the middle of a cube with an edge of ", extent),
         "say a larger data.source_to_detector: the cube has to lie before the detector");
}

std::vector<RadiographView> PairConfig::views(int64_t count) const {
  const bool is_cone = beam == "cone";
  // The side of the cube that is nearer to the source has to fit onto the detector.
  const double magnified =
      is_cone ? extent * source_to_detector / (source_to_isocentre - extent / 2) : extent;
  const double pixel = magnified / static_cast<double>(radiograph_size);
  RadiographView view{.beam = is_cone ? Beam::cone : Beam::parallel,
                      .pixels = {radiograph_size, radiograph_size},
                      .spacing = {pixel, pixel},
                      .source_to_isocentre = source_to_isocentre,
                      .source_to_detector = source_to_detector};
  std::vector<RadiographView> all{view};
  view.degrees = 90;
  if (count > 1) all.push_back(view);
  return all;
}

VoxelPositions PairConfig::positions(int64_t size) const { return cube_positions(extent, size); }

VoxelPositions cube_positions(double extent, int64_t size) {
  const double spacing = extent / static_cast<double>(size);
  const double first = 0.5 * spacing * static_cast<double>(size - 1);
  return {{{0, 0, -spacing, first}, {spacing, 0, 0, -first}, {0, -spacing, 0, first}, {0, 0, 0, 1}}};
}

}  // namespace larmor::xray_to_ct
