// JSON values: what config trees, plans, manifests and reports are made of.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace larmor {

using Json = nlohmann::ordered_json;

/// Throws Error (`exit` data) naming `place` and the line. Duplicate keys and trailing text are errors;
/// depth is bounded.
Json parse_json(std::string_view source, std::string_view place);
Json read_json(const std::filesystem::path& path);

/// Indented, keys in order of insertion, a newline at the end. Non-finite numbers become null.
std::string to_text(const Json& value);

}  // namespace larmor
