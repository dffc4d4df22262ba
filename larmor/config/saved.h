// The config.yaml of a run folder: how origins are written as comments, and read back.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace larmor {

/// The first line of a saved config. Only in such a file are comments taken for origins.
inline constexpr std::string_view saved_mark =
    "# The resolved configuration of a run; comments say where each value came from.";
/// What stands between a value and its origin.
inline constexpr std::string_view origin_mark = "  # ";

/// The origins by line, from 1; empty when the text is no saved config.
std::map<int, std::string> saved_origins(std::string_view content);

}  // namespace larmor
