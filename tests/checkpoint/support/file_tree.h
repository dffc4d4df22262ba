// A folder with all that is below it, as a value: what a test compares, keeps, and lays down again.
#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace larmor::testing {

/// A folder, a file or a link.
struct FileItem {
  enum class Kind { folder, file, link };
  Kind kind = Kind::folder;
  std::string content;  // a file's bytes, or where a link points
  bool operator==(const FileItem&) const = default;
};

/// By path, relative to the folder that the tree was read from.
using FileTree = std::map<std::string, FileItem>;

FileTree read_tree(const std::filesystem::path& folder);
/// Empties the folder first.
void write_tree(const FileTree& tree, const std::filesystem::path& folder);

}  // namespace larmor::testing
