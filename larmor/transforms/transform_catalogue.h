// The transforms that a config can name, and how each is made from its parameters.
#pragma once

#include <concepts>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "larmor/base/seed.h"
#include "larmor/transforms/example_key.h"
#include "larmor/transforms/extent.h"
#include "larmor/transforms/lazy_volume.h"
#include "larmor/transforms/transform_parameters.h"

namespace larmor {

/// The volumes of one example, by name.
using LazyVolumes = std::map<std::string, LazyVolume, std::less<>>;
using TransformRun = std::function<void(LazyVolumes&, const ExampleKey&)>;

/// What a step does to the extent of an image.
using ExtentChange = std::function<void(Extent&)>;

/// What a declared transform does.
struct Transform {
  Transform() = default;
  template <std::convertible_to<TransformRun> Run>
  Transform(Run does, ExtentChange changes = {}) : run(std::move(does)), of_extent(std::move(changes)) {}

  TransformRun run;        // nothing, when reading a volume does it anyway
  ExtentChange of_extent;  // nothing where an image keeps its extent
};

struct KnownTransform {
  std::string name;
  Transform (*make)(Parameters& parameters);
  bool is_random = false;
};

/// Orientation, spacing, rotations: what moves voxels.
const std::vector<KnownTransform>& spatial_transforms();
/// What cuts and pads.
const std::vector<KnownTransform>& crop_transforms();
/// What changes values alone.
const std::vector<KnownTransform>& intensity_transforms();

/// The draws of one step for one example.
inline Draws draws_for(const ExampleKey& key, const std::string& purpose) {
  return Draws(
      make_key(key.seed, static_cast<uint64_t>(key.epoch), static_cast<uint64_t>(key.example), purpose));
}
inline double draw(Draws& draws, const DrawRange& range) {
  return range.low + (range.high - range.low) * draws.uniform();
}

/// A step that does the same to every volume it is for, by itself.
template <class Change>
TransformRun for_each_target(Targets targets, Change change) {
  return [targets = std::move(targets), change = std::move(change)](LazyVolumes& volumes, const ExampleKey&) {
    for (auto& [name, volume] : volumes) {
      if (targets.wants(name)) change(volume, targets.interpolation(name));
    }
  };
}

/// A random one: happens with a probability, and `draw_once(draws)` gives what all volumes share.
template <class DrawOnce, class Change>
TransformRun at_random(Parameters& parameters, Targets targets, DrawOnce draw_once, Change change) {
  return [targets = std::move(targets), probability = parameters.probability(),
          purpose = parameters.purpose(), draw_once = std::move(draw_once),
          change = std::move(change)](LazyVolumes& volumes, const ExampleKey& key) {
    auto draws = draws_for(key, purpose);
    if (draws.uniform() >= probability) return;
    const auto drawn = draw_once(draws);
    for (auto& [name, volume] : volumes) {
      if (targets.wants(name)) change(volume, drawn, targets.interpolation(name));
    }
  };
}

/// `change` where the step is for images.
inline ExtentChange of_image(const Targets& targets, ExtentChange change) {
  return targets.wants("image") ? std::move(change) : ExtentChange();
}

}  // namespace larmor
