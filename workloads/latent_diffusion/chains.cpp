#include "workloads/latent_diffusion/chains.h"

namespace larmor::latent_diffusion {

namespace {
constexpr const char* random_crop = "RandSpatialCrop";
constexpr const char* center_crop = "CenterSpatialCrop";
constexpr const char* size_key = "roi_size";
constexpr const char* validation_size_key = "validation_roi_size";

std::vector<int64_t> crop_of(const Json& chain) {
  for (const auto& step : chain) {
    for (const auto* name : {random_crop, center_crop}) {
      if (step.is_object() && step.contains(name) && step[name].contains(size_key)) {
        return step[name][size_key].get<std::vector<int64_t>>();
      }
    }
  }
  return {};
}
}  // namespace

Json training_chain(const Json& declared) {
  Json chain = declared;
  for (auto& step : chain) {
    if (step.is_object() && step.contains(random_crop) && step[random_crop].is_object()) {
      step[random_crop].erase(validation_size_key);
    }
  }
  return chain;
}

Json validation_chain(const Json& declared) {
  Json chain = Json::array();
  for (const auto& step : declared) {
    if (!step.is_object() || !step.contains(random_crop)) {
      chain.push_back(step);
      continue;
    }
    const auto& crop = step[random_crop];
    Json center;
    center[center_crop][size_key] =
        crop.contains(validation_size_key) ? crop[validation_size_key] : crop.at(size_key);
    chain.push_back(center);
  }
  return chain;
}

Json prediction_chain(const Json& declared) {
  Json chain = Json::array();
  for (const auto& step : declared) {
    const bool crops = step.is_object() && (step.contains(random_crop) || step.contains(center_crop));
    if (!crops) chain.push_back(step);
  }
  return chain;
}

std::vector<int64_t> training_crop(const Json& declared) { return crop_of(declared); }

std::vector<int64_t> validation_crop(const Json& declared) { return crop_of(validation_chain(declared)); }

}  // namespace larmor::latent_diffusion
