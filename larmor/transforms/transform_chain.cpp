#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "larmor/base/error.h"
#include "larmor/base/load_clock.h"
#include "larmor/base/text.h"
#include "larmor/transforms/transform_catalogue.h"
#include "larmor/transforms/transforms.h"

namespace larmor {

struct TransformChain::Step {
  Transform transform;
  bool random = false;
};

namespace {

/// Steps of which each example of several has draws of its own.
bool makes_samples(const std::string& name) {
  return name == "RandSpatialCropSamples" || name == "RandCropByPosNegLabel";
}

/// What is said of reading a volume: nothing is left to do.
Transform done_by_reading(Parameters& parameters) {
  for (const char* const name :
       {"keys", "image_only", "ensure_channel_first", "reader", "dtype", "simple_keys"})
    parameters.ignore(name);
  parameters.only("channel_dim", "no_channel");
  parameters.word_or("converter", "L", {"L"});  // picture_reading
  return {};
}

const std::vector<KnownTransform>& known_transforms() {
  static const auto known = [] {
    std::vector<KnownTransform> all{{"LoadImage", done_by_reading}, {"EnsureChannelFirst", done_by_reading}};
    for (const auto* const some : {&spatial_transforms(), &crop_transforms(), &intensity_transforms()})
      all.insert(all.end(), some->begin(), some->end());
    return all;
  }();
  return known;
}

const KnownTransform& find_transform(const std::string& name) {
  for (const KnownTransform& known : known_transforms()) {
    if (name == known.name || name == known.name + "d") return known;
  }
  const auto names = transform_names();
  const std::string near = nearest(name, names);
  fail(Exit::usage, text("data.transforms: there is no transform ", name),
       near.empty() ? text("known are ", join(names, ", ")) : text("did you mean ", near, "?"));
}

}  // namespace

std::vector<std::string> transform_names() {
  std::vector<std::string> names;
  for (const KnownTransform& known : known_transforms()) names.push_back(known.name);
  return names;
}

TransformChain::TransformChain(const Json& declaration) {
  if (!declaration.is_array() && !declaration.is_null()) {
    fail(Exit::usage, "data.transforms must be a list", "say [{Orientation: {axcodes: RAS}}, …]");
  }
  std::map<std::string, int> occurrences;
  std::string samples_step;
  for (const Json& item : declaration) {
    const bool mapping = item.is_object() && item.size() == 1;
    if (!mapping && !item.is_string()) {
      fail(Exit::usage, text("data.transforms: ", item.dump(), " is not one transform with its parameters"),
           "say {Orientation: {axcodes: RAS}}");
    }
    const KnownTransform& known = find_transform(mapping ? item.begin().key() : item.get<std::string>());
    static const Json nothing;
    Parameters parameters(known.name, mapping ? item.begin().value() : nothing, ++occurrences[known.name]);
    auto made = known.make(parameters);
    parameters.finish();
    if (makes_samples(known.name)) {
      if (!samples_step.empty())
        fail(Exit::usage, text("data.transforms: both ", samples_step, " and ", known.name, " make samples"),
             "keep one of them: it says how many crops there are");
      samples_step = known.name;
      samples_per_volume_ = item.begin().value().value("num_samples", int64_t{1});
    }
    const bool is_before =
        std::none_of(steps_.begin(), steps_.end(), [](const Step& step) { return step.random; });
    if (is_before && !known.is_random) deterministic_.push_back(item);
    if (made.run) steps_.push_back({std::move(made), known.is_random});
  }
  const auto first = std::find_if(steps_.begin(), steps_.end(), [](const Step& step) { return step.random; });
  first_random_ = static_cast<std::size_t>(first - steps_.begin());
}

// `sources` are what a LazyVolume can be made of, by name.
template <class Sources>
Volumes TransformChain::run(Sources sources, const ExampleKey& key, std::size_t begin,
                            std::size_t end) const {
  const LoadScope stage(LoadStage::augment);
  LazyVolumes lazy;
  for (auto& [name, source] : sources) lazy.emplace(name, LazyVolume(std::move(source)));
  for (std::size_t i = begin; i < end; ++i) {
    if (i == first_random_) {
      for (auto& [name, volume] : lazy) volume.fence();
    }
    steps_[i].transform.run(lazy, key);
  }
  Volumes volumes;
  for (auto& [name, volume] : lazy) volumes.emplace(name, volume.volume());
  return volumes;
}

Volumes TransformChain::deterministic_part(Volumes volumes) const {
  return run(std::move(volumes), {}, 0, first_random_);
}

Volumes TransformChain::random_part(Volumes volumes, const ExampleKey& key) const {
  return run(std::move(volumes), key, first_random_, steps_.size());
}

Volumes TransformChain::random_part(DeferredVolumes volumes, const ExampleKey& key) const {
  return run(std::move(volumes), key, first_random_, steps_.size());
}

Volumes TransformChain::apply(Volumes volumes, const ExampleKey& key) const {
  return run(std::move(volumes), key, 0, steps_.size());
}

Volumes TransformChain::apply(DeferredVolumes volumes, const ExampleKey& key) const {
  return run(std::move(volumes), key, 0, steps_.size());
}

GridSize TransformChain::size_after(Extent extent) const {
  for (const Step& step : steps_) {
    if (step.transform.of_extent) step.transform.of_extent(extent);
  }
  return extent.size;
}

bool TransformChain::is_random() const { return first_random_ < steps_.size(); }

TransformChain::~TransformChain() = default;
TransformChain::TransformChain(TransformChain&&) noexcept = default;

}  // namespace larmor
