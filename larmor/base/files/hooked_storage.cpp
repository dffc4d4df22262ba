#include "larmor/base/files/hooked_storage.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

namespace larmor {
namespace {

// What even a slow network file system takes in seconds.
constexpr size_t longest_write = size_t{64} << 20;

}  // namespace

template <class Operation>
auto HookedStorage::hooked(const Operation& operation) const {
  before();
  if constexpr (std::is_void_v<decltype(operation())>) {
    operation();
    after();
  } else {
    auto result = operation();
    after();
    return result;
  }
}

class HookedStorage::File final : public StorageFile {
 public:
  File(const HookedStorage& storage, std::unique_ptr<StorageFile> file)
      : storage_(storage), file_(std::move(file)) {}

  void write(std::span<const std::byte> bytes) override {
    do {
      const auto piece = bytes.first(std::min(bytes.size(), longest_write));
      storage_.hooked([&] { file_->write(piece); });
      bytes = bytes.subspan(piece.size());
    } while (!bytes.empty());
  }
  void sync() override {
    storage_.hooked([&] { file_->sync(); });
  }
  // Everything has been written already: closing changes nothing.
  void close() override { file_->close(); }

 private:
  const HookedStorage& storage_;
  std::unique_ptr<StorageFile> file_;
};

HookedStorage::HookedStorage(std::unique_ptr<Storage> inner) : inner_(std::move(inner)) {}

void HookedStorage::create_folders(const Path& folder) {
  hooked([&] { inner_->create_folders(folder); });
}

std::unique_ptr<StorageFile> HookedStorage::create(const Path& file) {
  return std::make_unique<File>(*this, hooked([&] { return inner_->create(file); }));
}

std::unique_ptr<StorageFile> HookedStorage::append(const Path& file) {
  return std::make_unique<File>(*this, hooked([&] { return inner_->append(file); }));
}

std::unique_ptr<StorageFile> HookedStorage::stream(const Path& path) {
  return std::make_unique<File>(*this, hooked([&] { return inner_->stream(path); }));
}

void HookedStorage::rename(const Path& from, const Path& to) {
  hooked([&] { inner_->rename(from, to); });
}

void HookedStorage::exchange(const Path& one, const Path& other) {
  hooked([&] { inner_->exchange(one, other); });
}

void HookedStorage::sync_folder(const Path& folder) {
  hooked([&] { inner_->sync_folder(folder); });
}

void HookedStorage::remove_all(const Path& path) {
  hooked([&] { inner_->remove_all(path); });
}

void HookedStorage::replace_link(const Path& link, const Path& target) {
  hooked([&] { inner_->replace_link(link, target); });
}

uint64_t HookedStorage::free_bytes(const Path& folder) {
  return hooked([&] { return inner_->free_bytes(folder); });
}

void HookedStorage::point(std::string_view name) { inner_->point(name); }

}  // namespace larmor
