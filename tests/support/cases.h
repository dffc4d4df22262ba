// Data sets for tests: folders with small volumes in them, and errors as values.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"

namespace larmor::testing {

/// The error that `work` throws; nothing when it throws none.
template <class Work>
std::optional<Error> error_of(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

/// A folder that is filled file by file.
class CaseFolder {
 public:
  const std::filesystem::path& path() const { return scratch_.path(); }
  /// A good NIfTI volume of 2 x 3 x 4 voxels, each `value`; packed when the name ends in .gz.
  CaseFolder& volume(const std::string& name, int value = 1);
  /// A .npz whose one array has this shape and the values 0, 1, 2, ….
  CaseFolder& archive(const std::string& name, const std::vector<int>& shape);
  CaseFolder& file(const std::string& name, const std::string& bytes);
  /// Empty files of these names: for what goes by names alone.
  CaseFolder& files(const std::vector<std::string>& names);

 private:
  ScratchFolder scratch_;
};

}  // namespace larmor::testing
