#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <thread>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/files/storage.h"
#include "larmor/base/process/system_error.h"
#include "larmor/base/text.h"

namespace larmor {
namespace {

class FaultyFile final : public StorageFile {
 public:
  FaultyFile(FaultyStorage& storage, std::unique_ptr<StorageFile> file, std::filesystem::path path)
      : storage_(storage), file_(std::move(file)), path_(std::move(path)) {}

  void write(std::span<const std::byte> bytes) override {
    storage_.enter("write", path_);
    file_->write(bytes);
  }
  void sync() override {
    storage_.enter("sync", path_);
    file_->sync();
  }
  void close() override {
    storage_.enter("close", path_);
    file_->close();
  }

 private:
  FaultyStorage& storage_;
  std::unique_ptr<StorageFile> file_;
  std::filesystem::path path_;
};

// What LARMOR_FAIL_POINT asks for.
struct FailPoint {
  std::string name;
  int64_t first = 1;
  bool and_later = false;
  int error = 0;  // errno to report; 0 = the process is killed
};

constexpr int is_slow = -1;  // in place of an errno
/// What a slow operation begins with.
constexpr auto delay = std::chrono::seconds(1);
/// Thrown by a fault that only delays, and caught where other operations need not wait as well.
struct Delayed {};

[[noreturn]] void refuse(std::string_view setting, std::string_view part) {
  fail(Exit::usage, text("LARMOR_FAIL_POINT=", setting, ": \"", part, "\" is not understood"),
       "write <operation or point>[:<nth> or <nth>+][:kill|full|io|quota|readonly|files|stale|slow]");
}

// 0: the process is killed.
std::optional<int> error_named(std::string_view word) {
  constexpr std::pair<std::string_view, int> errors[] = {
      {"kill", 0},         {"full", ENOSPC},  {"io", EIO},       {"quota", EDQUOT},
      {"readonly", EROFS}, {"files", EMFILE}, {"stale", ESTALE}, {"slow", is_slow}};
  for (const auto& [name, error] : errors) {
    if (word == name) return error;
  }
  return std::nullopt;
}

FailPoint read_fail_point(std::string_view setting) {
  const std::vector<std::string> parts = split(setting, ':');
  FailPoint point;
  point.name = parts.front();
  if (point.name.empty()) refuse(setting, "");
  for (size_t i = 1; i < parts.size(); ++i) {
    const std::string& part = parts[i];
    if (const std::optional<int> error = error_named(part)) {
      if (i + 1 != parts.size()) refuse(setting, parts[i + 1]);
      point.error = *error;
      continue;
    }
    const char* end = part.data() + part.size();
    const auto [stop, problem] = std::from_chars(part.data(), end, point.first);
    point.and_later = std::string_view(stop, end) == "+";
    const bool whole = stop == end || point.and_later;
    if (i != 1 || problem != std::errc{} || !whole || point.first < 1) refuse(setting, part);
  }
  return point;
}

FaultyStorage::Fault make_fault(FailPoint point) {
  return [point = std::move(point), seen = int64_t{0}](const FaultyStorage::Operation& operation) mutable {
    if (operation.name != point.name) return;
    ++seen;
    if (seen < point.first || (seen > point.first && !point.and_later)) return;
    if (point.error == 0) ::raise(SIGKILL);
    if (point.error == is_slow) throw Delayed();
    fail_errno(point.error, text("(LARMOR_FAIL_POINT) ", operation.name), operation.path);
  };
}

}  // namespace

void FaultyStorage::enter(std::string name, const Path& path) {
  try {
    const std::lock_guard lock(mutex_);
    operations_.push_back({.name = std::move(name), .path = path});
    if (before_) before_(Operation(operations_.back()));
  } catch (const Delayed&) {
    std::this_thread::sleep_for(delay);
  }
}

void FaultyStorage::create_folders(const Path& folder) {
  enter("create_folders", folder);
  disk_.create_folders(folder);
}

std::unique_ptr<StorageFile> FaultyStorage::create(const Path& file) {
  enter("create", file);
  return std::make_unique<FaultyFile>(*this, disk_.create(file), file);
}

std::unique_ptr<StorageFile> FaultyStorage::append(const Path& file) {
  enter("append", file);
  return std::make_unique<FaultyFile>(*this, disk_.append(file), file);
}

std::unique_ptr<StorageFile> FaultyStorage::stream(const Path& path) {
  enter("stream", path);
  return std::make_unique<FaultyFile>(*this, disk_.stream(path), path);
}

void FaultyStorage::rename(const Path& from, const Path& to) {
  enter("rename", to);
  disk_.rename(from, to);
}

void FaultyStorage::exchange(const Path& one, const Path& other) {
  enter("exchange", other);
  disk_.exchange(one, other);
}

void FaultyStorage::sync_folder(const Path& folder) {
  enter("sync_folder", folder);
  disk_.sync_folder(folder);
}

void FaultyStorage::remove_all(const Path& path) {
  enter("remove_all", path);
  disk_.remove_all(path);
}

void FaultyStorage::replace_link(const Path& link, const Path& target) {
  enter("link", link);
  disk_.replace_link(link, target);
}

uint64_t FaultyStorage::free_bytes(const Path& folder) {
  enter("free_bytes", folder);
  return disk_.free_bytes(folder);
}

void FaultyStorage::point(std::string_view name) { enter(std::string(name), {}); }

std::unique_ptr<Storage> make_storage() {
  const char* setting = std::getenv("LARMOR_FAIL_POINT");
  if (setting == nullptr || *setting == '\0') return std::make_unique<DiskStorage>();
  return std::make_unique<FaultyStorage>(make_fault(read_fail_point(setting)));
}

}  // namespace larmor
