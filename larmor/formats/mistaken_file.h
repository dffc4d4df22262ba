// Files that are given in place of an image: what they are, and who reads them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace larmor {

struct MistakenFile {
  std::string what;    // "is a table", to be put behind its path
  std::string remedy;  // for a hint
};

/// By the first bytes and the name; nothing where neither says anything, where the file cannot be read, and
/// for what is an image, whole or not. Folders of runs and of checkpoints are known, too.
std::optional<MistakenFile> mistaken_file(const std::filesystem::path& path);

}  // namespace larmor
