// A storage that shows that it moves: what is written slowly is not taken for a hang.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "larmor/base/storage.h"

namespace larmor {

/// Does what `inner` does, and calls `sign` after each operation and each write that has succeeded, on the
/// thread that asked for it. Files have to be closed before it goes.
class LivingStorage final : public Storage {
 public:
  LivingStorage(std::unique_ptr<Storage> inner, std::function<void()> sign);

  void create_folders(const Path& folder) override;
  std::unique_ptr<StorageFile> create(const Path& file) override;
  std::unique_ptr<StorageFile> append(const Path& file) override;
  void rename(const Path& from, const Path& to) override;
  void sync_folder(const Path& folder) override;
  void remove_all(const Path& path) override;
  void replace_link(const Path& link, const Path& target) override;
  uint64_t free_bytes(const Path& folder) override;
  void point(std::string_view name) override { inner_->point(name); }

 private:
  std::unique_ptr<Storage> inner_;
  std::function<void()> sign_;
};

}  // namespace larmor
