#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "larmor/base/error.h"
#include "larmor/base/seed.h"
#include "larmor/base/text.h"
#include "larmor/data/lazy_volume.h"
#include "larmor/data/transforms.h"

namespace larmor {

struct TransformChain::Step {
  std::function<void(LazyVolume&, const ExampleKey&)> run;
  bool random = false;
};

namespace {

using Run = std::function<void(LazyVolume&, const ExampleKey&)>;

/// The parameters of one declared transform. Every known name is asked for once; what is left is unknown.
class Parameters {
 public:
  Parameters(std::string transform, const Json& given) : transform_(std::move(transform)), given_(given) {
    if (!given_.is_object() && !given_.is_null()) refuse("its parameters must be a mapping");
    const Json* const keys = find("keys");
    if (keys != nullptr && *keys != "image" && *keys != Json::array({"image"})) {
      refuse(text("keys is ", keys->dump(), "; volumes have the one key \"image\""));
    }
  }

  double number(const std::string& name, double low, double high) {
    const Json* const value = needed(name);
    if (!value->is_number()) refuse(text(name, " is ", value->dump(), ", not a number"));
    const double number = value->get<double>();
    if (!(number >= low && number <= high))
      refuse(text(name, " is ", number, "; ", low, " to ", high, " are possible"));
    return number;
  }
  bool flag(const std::string& name, bool otherwise) {
    const Json* const value = find(name);
    if (value == nullptr) return otherwise;
    if (!value->is_boolean()) refuse(text(name, " is ", value->dump(), ", not true or false"));
    return value->get<bool>();
  }
  std::string word(const std::string& name) {
    const Json* const value = needed(name);
    if (!value->is_string()) refuse(text(name, " is ", value->dump(), ", not a word"));
    return value->get<std::string>();
  }
  /// Three numbers, or one for all three.
  template <class Number>
  std::array<Number, 3> three(const std::string& name) {
    const Json& value = *needed(name);
    const bool list = value.is_array() && value.size() == 3;
    std::array<Number, 3> result{};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const Json& item = list ? value[axis] : value;
      if (!(std::is_integral_v<Number> ? item.is_number_integer() : item.is_number())) {
        refuse(text(name, " is ", value.dump(), ", not ",
                    std::is_integral_v<Number> ? "whole numbers" : "numbers", ", one or three"));
      }
      result[axis] = item.get<Number>();
    }
    return result;
  }
  /// A choice of MONAI's that has one value here.
  void only(const std::string& name, const Json& value) {
    const Json* const given = find(name);
    if (given != nullptr && *given != value)
      refuse(text(name, " is ", given->dump(), "; only ", value.dump(), " is done here"));
  }
  void ignore(const std::string& name) { find(name); }
  void finish() const {
    if (!given_.is_object()) return;
    for (const auto& [name, value] : given_.items()) {
      if (std::find(asked_.begin(), asked_.end(), name) != asked_.end()) continue;
      const std::string near = nearest(name, asked_);
      fail(Exit::usage, text("data.transforms: ", transform_, " has no parameter ", name),
           near.empty() ? text("it has ", join(asked_, ", ")) : text("did you mean ", near, "?"));
    }
  }
  [[noreturn]] void refuse(const std::string& reason) const {
    fail(Exit::usage, text("data.transforms: ", transform_, ": ", reason));
  }
  const Json* find(const std::string& name) {
    asked_.push_back(name);
    return given_.is_object() && given_.contains(name) ? &given_.at(name) : nullptr;
  }

 private:
  const Json* needed(const std::string& name) {
    const Json* const value = find(name);
    if (value == nullptr) refuse(text(name, " is missing"));
    return value;
  }

  std::string transform_;
  const Json& given_;
  std::vector<std::string> asked_;
};

std::vector<int64_t> roi_size(Parameters& parameters) {
  const auto size = parameters.three<int64_t>("roi_size");
  return {size.begin(), size.end()};
}

/// Reading a volume does this: nothing is left to do.
Run done_by_reading(Parameters& parameters, int) {
  for (const char* const name : {"image_only", "ensure_channel_first", "reader", "dtype", "simple_keys"}) {
    parameters.ignore(name);
  }
  parameters.only("channel_dim", "no_channel");
  return {};
}

Run orientation(Parameters& parameters, int) {
  const std::string axcodes = parameters.word("axcodes");
  check_axcodes(axcodes);
  return [axcodes](LazyVolume& volume, const ExampleKey&) { volume.orient(axcodes); };
}

Run spacing(Parameters& parameters, int) {
  const auto pixdim = parameters.three<double>("pixdim");
  bool is_nearest = false;
  if (const Json* const mode = parameters.find("mode"); mode != nullptr) {
    is_nearest = *mode == "nearest" || *mode == Json::array({"nearest"});
    if (!is_nearest && *mode != "bilinear" && *mode != Json::array({"bilinear"})) {
      parameters.refuse(text("mode is ", mode->dump(),
                             "; \"bilinear\" (which is trilinear on volumes) and \"nearest\" are known"));
    }
  }
  parameters.only("padding_mode", "border");
  parameters.only("align_corners", false);
  parameters.only("diagonal", false);
  parameters.only("scale_extent", false);
  parameters.only("recompute_affine", false);
  return [pixdim, is_nearest](LazyVolume& volume, const ExampleKey&) { volume.resample(pixdim, is_nearest); };
}

Run centre(Parameters& parameters, int) {
  const auto wanted = roi_size(parameters);
  return [wanted](LazyVolume& volume, const ExampleKey&) {
    const auto size = crop_size(volume.size(), wanted);
    volume.crop(center_corner(volume.size(), size), size);
  };
}

Run random_crop(Parameters& parameters, int occurrence) {
  const auto wanted = roi_size(parameters);
  parameters.only("random_size", false);
  parameters.only("random_center", true);
  // Two crops of one chain draw apart from each other.
  const std::string purpose = occurrence == 1 ? "RandSpatialCrop" : text("RandSpatialCrop ", occurrence);
  return [wanted, purpose](LazyVolume& volume, const ExampleKey& key) {
    Draws draws(
        make_key(key.seed, static_cast<uint64_t>(key.epoch), static_cast<uint64_t>(key.example), purpose));
    const auto size = crop_size(volume.size(), wanted);
    std::vector<int64_t> corner(3);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const int64_t room = volume.size()[axis] - size[axis];
      corner[axis] = static_cast<int64_t>(draws.below(static_cast<uint64_t>(room) + 1));
    }
    volume.crop(corner, size);
  };
}

Run percentiles(Parameters& parameters, int) {
  const double lower = parameters.number("lower", 0, 100), upper = parameters.number("upper", 0, 100);
  constexpr double largest = 1e30;
  const double b_min = parameters.number("b_min", -largest, largest),
               b_max = parameters.number("b_max", -largest, largest);
  const bool clip = parameters.flag("clip", false);
  parameters.only("relative", false);
  parameters.only("channel_wise", false);
  return [=](LazyVolume& volume, const ExampleKey&) {
    volume = LazyVolume(scale_percentiles(volume.volume(), lower, upper, b_min, b_max, clip));
  };
}

struct Known {
  std::string name;
  Run (*make)(Parameters& parameters, int occurrence);
  bool random = false;
};

const std::vector<Known>& known_transforms() {
  static const std::vector<Known> known{{"LoadImage", done_by_reading},
                                        {"EnsureChannelFirst", done_by_reading},
                                        {"Orientation", orientation},
                                        {"Spacing", spacing},
                                        {"CenterSpatialCrop", centre},
                                        {"RandSpatialCrop", random_crop, true},
                                        {"ScaleIntensityRangePercentiles", percentiles}};
  return known;
}

const Known& find_transform(const std::string& name) {
  std::vector<std::string> names;
  for (const Known& known : known_transforms()) {
    if (name == known.name || name == known.name + "d") return known;
    names.push_back(known.name);
  }
  const std::string near = nearest(name, names);
  fail(Exit::usage, text("data.transforms: there is no transform ", name),
       near.empty() ? text("known are ", join(names, ", ")) : text("did you mean ", near, "?"));
}

}  // namespace

TransformChain::TransformChain(const Json& declaration) {
  if (!declaration.is_array() && !declaration.is_null()) {
    fail(Exit::usage, "data.transforms must be a list", "say [{Orientation: {axcodes: RAS}}, …]");
  }
  int random_crops = 0;
  for (const Json& item : declaration) {
    const bool mapping = item.is_object() && item.size() == 1;
    if (!mapping && !item.is_string()) {
      fail(Exit::usage, text("data.transforms: ", item.dump(), " is not one transform with its parameters"),
           "say {Orientation: {axcodes: RAS}}");
    }
    const Known& known = find_transform(mapping ? item.begin().key() : item.get<std::string>());
    static const Json nothing;
    Parameters parameters(known.name, mapping ? item.begin().value() : nothing);
    Run run = known.make(parameters, known.random ? ++random_crops : 1);
    parameters.finish();
    if (run) steps_.push_back({std::move(run), known.random});
  }
  const auto first = std::find_if(steps_.begin(), steps_.end(), [](const Step& step) { return step.random; });
  first_random_ = static_cast<std::size_t>(first - steps_.begin());
}

Volume TransformChain::run(Volume volume, const ExampleKey& key, std::size_t begin, std::size_t end) const {
  LazyVolume lazy(std::move(volume));
  for (std::size_t i = begin; i < end; ++i) steps_[i].run(lazy, key);
  return lazy.volume();
}

Volume TransformChain::deterministic_part(Volume volume) const {
  return run(std::move(volume), {}, 0, first_random_);
}

Volume TransformChain::random_part(Volume volume, const ExampleKey& key) const {
  return run(std::move(volume), key, first_random_, steps_.size());
}

Volume TransformChain::apply(Volume volume, const ExampleKey& key) const {
  return run(std::move(volume), key, 0, steps_.size());
}

TransformChain::~TransformChain() = default;
TransformChain::TransformChain(TransformChain&&) noexcept = default;

}  // namespace larmor
