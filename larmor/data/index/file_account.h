// What became of the files below a data folder that are no case of their own: none is lost without a word.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace larmor {

struct FileAccount {
  /// Files by the reason for which no case has them; paths as a case's, sorted once it is finished.
  std::map<std::string, std::vector<std::string>> passed_over = {};
  /// Files that a case is made of beside those that it names: the slices of a series, the voxels of a header.
  /// The file, and the case's name.
  std::vector<std::pair<std::string, std::string>> parts = {};
  /// What looks wrong, a sentence each.
  std::vector<std::string> warnings = {};

  void pass_over(const std::string& reason, std::string file) {
    passed_over[reason].push_back(std::move(file));
  }
  /// Adds what `other` has.
  void join(FileAccount other);
  int64_t files_passed_over() const;
};

/// Whether a case that has parts is called after a folder of slices; otherwise it is a file as they are: a
/// header beside its voxels.
bool is_named_after_slices(const std::string& name);

}  // namespace larmor
