#include "workloads/xray_to_ct/data/pair_geometry.h"

#include <system_error>

#include "larmor/base/error.h"
#include "larmor/formats/file_kinds.h"

namespace larmor::xray_to_ct {
namespace {

Json json_of_view(const RadiographView& view) {
  Json json;
  json["beam"] = view.beam == Beam::cone ? "cone" : "parallel";
  json["degrees"] = view.degrees;
  json["pixels"] = view.pixels;
  json["spacing"] = view.spacing;
  json["source_to_isocentre"] = view.source_to_isocentre;
  json["source_to_detector"] = view.source_to_detector;
  return json;
}

RadiographView view_from(const Json& json) {
  return {.beam = json.at("beam").get<std::string>() == "cone" ? Beam::cone : Beam::parallel,
          .degrees = json.at("degrees").get<double>(),
          .pixels = json.at("pixels").get<std::array<int64_t, 2>>(),
          .spacing = json.at("spacing").get<std::array<double, 2>>(),
          .source_to_isocentre = json.at("source_to_isocentre").get<double>(),
          .source_to_detector = json.at("source_to_detector").get<double>()};
}

}  // namespace

Json to_json(const PairGeometry& geometry) {
  Json json;
  json["extent"] = geometry.extent;
  json["views"] = Json::array();
  json["intensity"] = Json::array();
  for (const RadiographView& view : geometry.views) json["views"].push_back(json_of_view(view));
  for (const Intensity& intensity : geometry.intensities)
    json["intensity"].push_back({intensity.scale, intensity.offset});
  json["correlation"] = geometry.correlations;
  json["made_from"] = geometry.made_from;
  return json;
}

PairGeometry pair_geometry_from(const Json& json) {
  PairGeometry geometry;
  try {
    geometry.extent = json.at("extent").get<double>();
    for (const Json& view : json.at("views")) geometry.views.push_back(view_from(view));
    for (const Json& pair : json.at("intensity"))
      geometry.intensities.push_back({.scale = pair.at(0).get<double>(), .offset = pair.at(1).get<double>()});
    geometry.correlations = json.at("correlation").get<std::vector<double>>();
    geometry.made_from = json.at("made_from");
  } catch (const Json::exception&) {
    geometry.views.clear();
  }
  const size_t views = geometry.views.size();
  if (views == 0 || geometry.intensities.size() != views || geometry.correlations.size() != views)
    fail(Exit::data, "is no geometry of a pair", "let `larmor prepare xray_to_ct` make the pair again");
  return geometry;
}

std::filesystem::path geometry_file(const std::filesystem::path& volume) {
  const std::string name = volume.filename().string();
  return volume.parent_path() /
         (name.substr(0, name.size() - known_suffix(volume).size()) + "_geometry.json");
}

std::optional<PairGeometry> find_geometry(const std::filesystem::path& volume) {
  const auto file = geometry_file(volume);
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) return std::nullopt;
  try {
    return pair_geometry_from(read_json(file));
  } catch (const Error& fault) {
    throw fault.within(file.string());
  }
}

}  // namespace larmor::xray_to_ct
