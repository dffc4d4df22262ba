#include "larmor/run/folder_claim.h"

#include <system_error>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/files/new_folder.h"
#include "larmor/base/files/removal.h"
#include "larmor/base/files/temporary_name.h"
#include "larmor/base/log.h"
#include "larmor/base/text.h"

namespace larmor {

namespace fs = std::filesystem;

namespace {

bool is_there(const fs::path& path) {
  std::error_code unknown;
  return fs::symlink_status(path, unknown).type() != fs::file_type::not_found;
}

/// Of a folder that another start may be taking away at this moment.
FileLock lock_of(const RunFolder& folder, Storage& storage) {
  constexpr int tries = 100;
  for (int i = 1;; ++i) {
    storage.create_folders(folder.root);
    try {
      return FileLock(folder.lock());
    } catch (const Error&) {
      if (is_there(folder.root) || i == tries) throw;
    }
  }
}

/// Whether the folder was made here. The one that it lies in is made, too; another start may be taking that
/// away.
bool makes(const fs::path& folder, Storage& storage) {
  constexpr int tries = 100;
  for (int i = 1;; ++i) {
    storage.create_folders(folder.parent_path());
    try {
      return create_folder(folder);
    } catch (const Error&) {
      if (is_there(folder.parent_path()) || i == tries) throw;
    }
  }
}

/// Requires: its lock is held. A start that has opened the lock file meanwhile finds that it has lost its
/// name.
void take_away(const RunFolder& folder, Storage& storage) {
  const auto aside = temporary_beside(folder.root);
  storage.rename(folder.root, aside);
  remove_own(storage, aside, [](const fs::path&) { return true; });
}

}  // namespace

FolderClaim::FolderClaim(RunFolder folder, Storage& storage)
    : folder_(std::move(folder)),
      storage_(storage),
      is_made_(!is_there(folder_.root)),
      is_first_(!is_there(folder_.root.parent_path())) {
  std::error_code unknown;
  if (!is_made_ && !fs::is_directory(folder_.root, unknown)) {
    fail(Exit::environment, text(folder_.root.string(), " is not a folder"),
         "choose another run.folder or run.name");
  }
  try {
    lock_.emplace(lock_of(folder_, storage_));
  } catch (const Error&) {
    if (!folder_.is_run() || !folder_.is_done()) throw;
    refusal_ = std::current_exception();
  }
}

FolderClaim::FolderClaim(RunFolder folder, FileLock lock, Storage& storage)
    : folder_(std::move(folder)), storage_(storage), lock_(std::move(lock)) {}

FolderClaim FolderClaim::of_new(const fs::path& runs, const std::string& name, Storage& storage) {
  const bool is_first = !is_there(runs);
  auto candidate = name;
  int refused = 0;
  for (int number = 2;; ++number) {
    const RunFolder folder{runs / candidate};
    candidate = text(name, "-", number);
    if (is_there(folder.root) || !makes(folder.root, storage)) continue;
    try {
      FolderClaim claim(folder, storage);
      // A start that was given this very name may have come between the folder and its lock.
      if (claim.folder().is_run()) continue;
      claim.is_made_ = true;
      claim.is_first_ = is_first;
      return claim;
    } catch (const Error&) {
      constexpr int most_refusals = 3;
      if (++refused == most_refusals) throw;
    }
  }
}

FolderClaim::FolderClaim(FolderClaim&& other) noexcept
    : folder_(std::move(other.folder_)),
      storage_(other.storage_),
      is_made_(std::exchange(other.is_made_, false)),
      is_first_(other.is_first_),
      lock_(std::move(other.lock_)),
      refusal_(std::move(other.refusal_)) {
  other.lock_.reset();
}

FolderClaim::~FolderClaim() {
  if (!is_made_ || !lock_ || folder_.is_run()) return;
  try {
    take_away(folder_, storage_);
    std::error_code others;  // of another start, which has begun a run beside it
    if (is_first_) fs::remove(folder_.root.parent_path(), others);
  } catch (const std::exception& error) {
    log::debug(text("an empty folder stays: ", error.what()));
  }
}

void FolderClaim::require_lock() const {
  if (refusal_) std::rethrow_exception(refusal_);
}

FileLock FolderClaim::keep() {
  auto lock = std::move(*lock_);
  lock_.reset();
  return lock;
}

void remove_unbegun(const RunFolder& folder, Storage& storage) {
  if (folder.is_run()) return;
  try {
    const FileLock lock(folder.lock());
    if (!folder.is_run()) take_away(folder, storage);
  } catch (const Error& error) {
    log::debug(text("the folder stays: ", error.message()));
  }
}

}  // namespace larmor
