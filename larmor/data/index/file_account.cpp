#include "larmor/data/index/file_account.h"

#include <iterator>

#include "larmor/formats/volume_files.h"

namespace larmor {

void FileAccount::join(FileAccount other) {
  for (auto& [reason, files] : other.passed_over) {
    auto& known = passed_over[reason];
    known.insert(known.end(), std::make_move_iterator(files.begin()), std::make_move_iterator(files.end()));
  }
  parts.insert(parts.end(), std::make_move_iterator(other.parts.begin()),
               std::make_move_iterator(other.parts.end()));
  warnings.insert(warnings.end(), std::make_move_iterator(other.warnings.begin()),
                  std::make_move_iterator(other.warnings.end()));
}

int64_t FileAccount::files_passed_over() const {
  int64_t count = 0;
  for (const auto& [reason, files] : passed_over) count += static_cast<int64_t>(files.size());
  return count;
}

bool is_named_after_slices(const std::string& name) { return !may_be_header(name); }

}  // namespace larmor
