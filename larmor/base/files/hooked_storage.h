// A storage that does what another one does, with something before and after each operation.
#pragma once

#include <memory>
#include <string_view>

#include "larmor/base/files/storage.h"

namespace larmor {

/// Whoever derives from it says what. Points are passed on without. Files have to be closed before it goes.
class HookedStorage : public Storage {
 public:
  explicit HookedStorage(std::unique_ptr<Storage> inner);

  void create_folders(const Path& folder) final;
  std::unique_ptr<StorageFile> create(const Path& file) final;
  std::unique_ptr<StorageFile> append(const Path& file) final;
  std::unique_ptr<StorageFile> stream(const Path& path) final;
  void rename(const Path& from, const Path& to) final;
  void exchange(const Path& one, const Path& other) final;
  void sync_folder(const Path& folder) final;
  void remove_all(const Path& path) final;
  void replace_link(const Path& link, const Path& target) final;
  uint64_t free_bytes(const Path& folder) final;
  void point(std::string_view name) final;

 protected:
  /// Both are called on the thread that asked for the operation, of which a file's writes are some: a long
  /// one several. What before() throws keeps it from being done; after() is called when it has succeeded.
  virtual void before() const {}
  virtual void after() const {}

 private:
  class File;
  template <class Operation>
  auto hooked(const Operation& operation) const;
  std::unique_ptr<Storage> inner_;
};

}  // namespace larmor
