// Names of what is there while work goes on, beside the name that it gets when it is done.
#pragma once

#include <filesystem>
#include <string_view>

namespace larmor {

/// `.NAME.partial-` and 16 digits that nobody can guess, in the folder of `path`; of a long NAME its
/// beginning. Writers of one file never share such a name, be they threads, or processes of two containers or
/// hosts that have equal numbers. A writer that is killed leaves one behind.
std::filesystem::path temporary_beside(const std::filesystem::path& path);

/// Whether a file has such a name.
bool is_temporary_name(std::string_view name);

}  // namespace larmor
