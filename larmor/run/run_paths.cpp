#include "larmor/run/run_paths.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace larmor {

namespace fs = std::filesystem;

namespace {

fs::path plain(const fs::path& path) { return fs::absolute(path).lexically_normal(); }

/// In a run of an earlier version, which has not noted it: the folder that its start stood in had `runs` in
/// it.
fs::path usual_start(const RunFolder& folder) { return plain(folder.root).parent_path().parent_path(); }

}  // namespace

void note_paths(Json& environment, const RunFolder& folder, const LoadedConfig& config) {
  environment["root"] = plain(folder.root).string();
  environment["paths"] = Json::object();
  for (const auto& [key, path] : config.paths)
    environment["paths"][key] = {{"said", path.said}, {"is", path.is}};
}

std::function<std::string(const std::string& key, const std::string& said)> find_paths(
    const RunFolder& folder, const Json& environment, const std::vector<std::string>& overrides) {
  return [=](const std::string& key, const std::string& said) {
    const auto names_it = [&](const std::string& word) { return word.starts_with(key + "="); };
    if (std::ranges::any_of(overrides, names_it)) return said;
    const auto paths = environment.value("paths", Json::object());
    const bool is_noted =
        paths.contains(key) && paths.at(key).at("said") == said && environment.contains("root");
    std::vector<fs::path> places;
    if (is_noted) {
      const fs::path then = paths.at(key).at("is").get<std::string>(),
                     root = environment.at("root").get<std::string>();
      places = {then, (plain(folder.root) / then.lexically_relative(root)).lexically_normal()};
    }
    places.emplace_back(said);
    if (!environment.contains("root")) places.push_back(usual_start(folder) / said);
    std::error_code unknown;
    const auto there =
        std::ranges::find_if(places, [&](const auto& place) { return fs::exists(place, unknown); });
    return (there == places.end() ? places.front() : *there).string();
  };
}

}  // namespace larmor
