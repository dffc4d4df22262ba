// Which folder a start of a run works in: it is claimed before anything else is looked at, so that no two
// starts ever take one folder for theirs.
#pragma once

#include <exception>
#include <filesystem>
#include <optional>
#include <string>

#include "larmor/base/files/file.h"
#include "larmor/base/files/storage.h"
#include "larmor/run/run_folder.h"

namespace larmor {

/// What the folder is, be it a run, and be that over, is to be read under the claim alone. A claim that is
/// given up before there is a config.yaml takes the folder away that it has made.
class FolderClaim {
 public:
  /// The claim of this folder, which is made where there is none. Throws Error (environment) where another
  /// process holds it, or it cannot be written; of a run that is over keep() does, so that it can be asked
  /// about.
  FolderClaim(RunFolder folder, Storage& storage);
  /// The claim of a folder that this process holds already.
  FolderClaim(RunFolder folder, FileLock lock, Storage& storage);
  /// The claim of a folder that no start has had, on this host or on others: called `name`, or with "-2",
  /// "-3" … behind.
  static FolderClaim of_new(const std::filesystem::path& runs, const std::string& name, Storage& storage);
  FolderClaim(FolderClaim&& other) noexcept;
  FolderClaim& operator=(FolderClaim&&) = delete;
  ~FolderClaim();

  const RunFolder& folder() const { return folder_; }
  /// Throws where the folder could not be locked.
  void require_lock() const;
  /// Requires: the folder's config.yaml is there, and require_lock().
  FileLock keep();

 private:
  RunFolder folder_;
  Storage& storage_;
  bool is_made_ = false, is_first_ = false;  // its folder, and the one that it lies in
  std::optional<FileLock> lock_;
  std::exception_ptr refusal_;
};

/// Takes away folders of runs that were to come and have not begun, and that nobody holds.
void remove_unbegun(const RunFolder& folder, Storage& storage);

}  // namespace larmor
