#include "larmor/train/living_storage.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

namespace larmor {
namespace {

// What even a slow network file system takes in seconds.
constexpr size_t living_piece = size_t{64} << 20;

class LivingFile final : public StorageFile {
 public:
  LivingFile(std::unique_ptr<StorageFile> file, const std::function<void()>& sign)
      : file_(std::move(file)), sign_(sign) {}

  void write(std::span<const std::byte> bytes) override {
    do {
      const auto piece = bytes.first(std::min(bytes.size(), living_piece));
      file_->write(piece);
      sign_();
      bytes = bytes.subspan(piece.size());
    } while (!bytes.empty());
  }
  void sync() override {
    file_->sync();
    sign_();
  }
  void close() override { file_->close(); }

 private:
  std::unique_ptr<StorageFile> file_;
  const std::function<void()>& sign_;
};

}  // namespace

LivingStorage::LivingStorage(std::unique_ptr<Storage> inner, std::function<void()> sign)
    : inner_(std::move(inner)), sign_(std::move(sign)) {}

void LivingStorage::create_folders(const Path& folder) {
  inner_->create_folders(folder);
  sign_();
}

std::unique_ptr<StorageFile> LivingStorage::create(const Path& file) {
  auto created = inner_->create(file);
  sign_();
  return std::make_unique<LivingFile>(std::move(created), sign_);
}

std::unique_ptr<StorageFile> LivingStorage::append(const Path& file) {
  auto opened = inner_->append(file);
  sign_();
  return std::make_unique<LivingFile>(std::move(opened), sign_);
}

void LivingStorage::rename(const Path& from, const Path& to) {
  inner_->rename(from, to);
  sign_();
}

void LivingStorage::sync_folder(const Path& folder) {
  inner_->sync_folder(folder);
  sign_();
}

void LivingStorage::remove_all(const Path& path) {
  inner_->remove_all(path);
  sign_();
}

void LivingStorage::replace_link(const Path& link, const Path& target) {
  inner_->replace_link(link, target);
  sign_();
}

uint64_t LivingStorage::free_bytes(const Path& folder) {
  const uint64_t bytes = inner_->free_bytes(folder);
  sign_();
  return bytes;
}

}  // namespace larmor
