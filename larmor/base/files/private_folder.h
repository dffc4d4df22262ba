// Who else may write where a run keeps its files.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace larmor {

/// Throws Error (environment) where everybody may write into the folder: others could put links and files
/// there, and take checkpoints for their own. Returns what is only worth a warning, a sentence each: the
/// folder's group may write, everybody may replace the folder itself in the one it lies in, or everybody may
/// write as far as the modes say, but its file system shows the same modes for all folders and means nothing
/// by them. Access lists beside the modes are not looked at.
std::vector<std::string> check_private(const std::filesystem::path& folder);

}  // namespace larmor
