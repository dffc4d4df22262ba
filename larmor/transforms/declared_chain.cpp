#include "larmor/transforms/declared_chain.h"

namespace larmor {

namespace {
constexpr const char* random_crop_step = "RandSpatialCrop";
constexpr const char* random_crops_step = "RandSpatialCropSamples";
constexpr const char* label_crop_step = "RandCropByPosNegLabel";
constexpr const char* center_crop_step = "CenterSpatialCrop";
constexpr const char* size_key = "roi_size";
constexpr const char* label_crop_size_key = "spatial_size";
constexpr const char* validation_size_key = "validation_roi_size";

/// A step's name, without the d that MONAI's transforms for dictionaries end in when it is `known` with one.
bool is_step_named(const Json& step, const std::string& known) {
  const auto name = step.is_string() ? step.get<std::string>() : step.is_object() ? step.begin().key() : "";
  return name == known || name == known + "d";
}

bool is_random_step(const Json& step) {
  const auto name = step.is_string() ? step.get<std::string>() : step.is_object() ? step.begin().key() : "";
  return name.starts_with("Rand");
}

bool is_crop_step(const Json& step) {
  return (is_step_named(step, random_crop_step) || is_step_named(step, random_crops_step) ||
          is_step_named(step, label_crop_step) || is_step_named(step, center_crop_step)) &&
         step.is_object() && step.front().is_object();
}

/// The parameters that all crops know.
Json as_center_crop(const Json& parameters) {
  Json kept;
  for (const auto* name : {"keys", size_key}) {
    if (parameters.contains(name)) kept[name] = parameters[name];
  }
  if (parameters.contains(label_crop_size_key)) kept[size_key] = parameters[label_crop_size_key];
  if (parameters.contains(validation_size_key)) kept[size_key] = parameters[validation_size_key];
  return {{center_crop_step, kept}};
}

}  // namespace

Json training_chain(const Json& declared) {
  Json chain = declared;
  for (auto& step : chain) {
    if (is_crop_step(step)) step.front().erase(validation_size_key);
  }
  return chain;
}

Json validation_chain(const Json& declared) {
  Json chain = Json::array();
  for (const auto& step : declared) {
    if (is_crop_step(step)) {
      chain.push_back(as_center_crop(step.front()));
    } else if (!is_random_step(step)) {
      chain.push_back(step);
    }
  }
  return chain;
}

Json prediction_chain(const Json& declared) {
  Json chain = Json::array();
  for (const auto& step : declared) {
    if (!is_crop_step(step) && !is_random_step(step)) chain.push_back(step);
  }
  return chain;
}

std::vector<std::pair<std::string, std::vector<std::string>>> keys_of_steps(const Json& chain) {
  std::vector<std::pair<std::string, std::vector<std::string>>> steps;
  for (const auto& step : chain) {
    if (is_step_named(step, "LoadImage") || is_step_named(step, "EnsureChannelFirst")) continue;
    if (!step.is_object() || !step.front().is_object() || !step.front().contains("keys")) continue;
    const Json& keys = step.front()["keys"];
    steps.emplace_back(step.begin().key(), keys.is_array() ? keys.get<std::vector<std::string>>()
                                                           : std::vector{keys.get<std::string>()});
  }
  return steps;
}

}  // namespace larmor
