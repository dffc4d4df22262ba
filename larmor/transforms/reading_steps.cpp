#include "larmor/transforms/reading_steps.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

namespace larmor {

namespace {

struct DeclaredStep {
  std::string name;
  Json parameters;

  bool is(const std::string& known) const { return name == known || name == known + "d"; }
};

DeclaredStep step_of(const Json& item) {
  if (item.is_string()) return {item.get<std::string>(), {}};
  if (item.is_object() && item.size() == 1) return {item.begin().key(), item.begin().value()};
  return {};
}

/// The parameter, or null.
Json parameter(const DeclaredStep& step, const std::string& name) {
  return step.parameters.is_object() ? step.parameters.value(name, Json()) : Json();
}

bool is_for_images(const DeclaredStep& step) {
  const Json keys = parameter(step, "keys");
  return keys.is_null() || keys == "image" ||
         (keys.is_array() && std::find(keys.begin(), keys.end(), "image") != keys.end());
}

std::array<int64_t, 2> averaged_size(const DeclaredStep& resize) {
  const Json mode = parameter(resize, "mode"), size = parameter(resize, "spatial_size");
  const auto is_whole = [](const Json& item) { return item.is_number_integer(); };
  if (!is_for_images(resize) || (!mode.is_null() && mode != "area")) return {};
  if (!size.is_array() || !std::all_of(size.begin(), size.end(), is_whole)) return {};
  const bool is_flat = size.size() == 2 || (size.size() == 3 && size[2].get<int64_t>() <= 1);
  if (!is_flat || size[0].get<int64_t>() < 1 || size[1].get<int64_t>() < 1) return {};
  return {size[0].get<int64_t>(), size[1].get<int64_t>()};
}

}  // namespace

PictureReading picture_reading(const Json& declaration) {
  PictureReading reading;
  if (!declaration.is_array()) return reading;
  for (const Json& item : declaration) {
    const DeclaredStep step = step_of(item);
    if (step.is("LoadImage")) {
      reading.grey = parameter(step, "converter") == "L";
    } else if (!step.is("EnsureChannelFirst")) {
      if (step.is("Resize")) reading.size = averaged_size(step);
      break;
    }
  }
  return reading;
}

}  // namespace larmor
