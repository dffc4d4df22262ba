#include "tests/checkpoint/support/file_tree.h"

#include <stdexcept>

#include <fcntl.h>
#include <unistd.h>

#include "larmor/base/files/file.h"

namespace larmor::testing {

namespace fs = std::filesystem;

namespace {

void write_file(const fs::path& path, const std::string& content) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  const bool written = descriptor >= 0 && ::write(descriptor, content.data(), content.size()) ==
                                              static_cast<ssize_t>(content.size());
  if (descriptor >= 0) ::close(descriptor);
  if (!written) throw std::runtime_error("cannot write " + path.string());
}

}  // namespace

FileTree read_tree(const fs::path& folder) {
  FileTree tree;
  for (const auto& item : fs::recursive_directory_iterator(folder)) {
    auto& entry = tree[item.path().lexically_relative(folder).string()];
    if (item.is_symlink()) {
      entry = {FileItem::Kind::link, fs::read_symlink(item.path()).string()};
    } else if (item.is_regular_file()) {
      entry = {FileItem::Kind::file, read_text(item.path())};
    }
  }
  return tree;
}

void write_tree(const FileTree& tree, const fs::path& folder) {
  for (const auto& item : fs::directory_iterator(folder)) fs::remove_all(item.path());
  for (const auto& [path, item] : tree) {  // a folder sorts before what it holds
    if (item.kind == FileItem::Kind::folder) {
      fs::create_directory(folder / path);
    } else if (item.kind == FileItem::Kind::link) {
      fs::create_symlink(item.content, folder / path);
    } else {
      write_file(folder / path, item.content);
    }
  }
}

}  // namespace larmor::testing
