#include "tests/checkpoint/support/recording_storage.h"

#include <stdexcept>
#include <utility>

#include "larmor/base/text.h"

namespace larmor::testing {

namespace {

using Kind = Recorded::Kind;

// The step of ".../step-00000012"; -1 for other paths.
int64_t step_of(const std::string& path) {
  const auto name = std::filesystem::path(path).filename().string();
  if (!name.starts_with("step-") || name.find_first_not_of("0123456789", 5) != std::string::npos) return -1;
  return std::stoll(name.substr(5));
}

}  // namespace

std::string words_for(const Recorded& operation) {
  switch (operation.kind) {
    case Kind::make_folder:
      return "make_folder " + operation.path;
    case Kind::create:
      return "create " + operation.path;
    case Kind::write:
      return text("write ", operation.bytes.size(), " bytes to ", operation.path);
    case Kind::sync:
      return "sync " + operation.path;
    case Kind::close:
      return "close " + operation.path;
    case Kind::rename:
      return text("rename ", operation.path, " to ", operation.target);
    case Kind::exchange:
      return text("exchange ", operation.path, " and ", operation.target);
    case Kind::sync_folder:
      return "sync_folder " + operation.path;
    case Kind::remove_all:
      return "remove_all " + operation.path;
    case Kind::link:
      return text("link ", operation.path, " to ", operation.target);
    case Kind::announce:
      return text("announce step ", operation.step);
  }
  return {};
}

template <class Operation>
void RecordingStorage::record(Recorded recorded, const Operation& operation) {
  const std::lock_guard lock(mutex_);
  if (recording_.size() >= killed_before_) throw Killed();
  operation();
  recording_.push_back(std::move(recorded));
}

class RecordingStorage::File final : public StorageFile {
 public:
  File(RecordingStorage& storage, std::unique_ptr<StorageFile> file, std::string path, int64_t number)
      : storage_(storage), file_(std::move(file)), path_(std::move(path)), number_(number) {}

  void write(std::span<const std::byte> bytes) override {
    Recorded recorded = of(Kind::write);
    recorded.bytes.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    storage_.record(std::move(recorded), [&] { file_->write(bytes); });
  }
  void sync() override {
    storage_.record(of(Kind::sync), [&] { file_->sync(); });
  }
  void close() override {
    storage_.record(of(Kind::close), [&] { file_->close(); });
  }

 private:
  Recorded of(Kind kind) const {
    Recorded recorded;
    recorded.kind = kind;
    recorded.path = path_;
    recorded.file = number_;
    return recorded;
  }

  RecordingStorage& storage_;
  std::unique_ptr<StorageFile> file_;
  std::string path_;
  int64_t number_;
};

void RecordingStorage::announce(int64_t step) {
  Recorded recorded;
  recorded.step = step;
  record(std::move(recorded), [] {});
}

void RecordingStorage::create_folders(const Path& folder) {
  const std::lock_guard lock(mutex_);
  std::vector<Path> absent;
  for (auto path = folder; path != root_ && !std::filesystem::exists(path); path = path.parent_path())
    absent.insert(absent.begin(), path);
  for (const auto& path : absent) {
    Recorded made;
    made.kind = Kind::make_folder;
    made.path = inside(path);
    record(std::move(made), [&] { disk_.create_folders(path); });
    Recorded synced;
    synced.kind = Kind::sync_folder;
    synced.path = inside(path.parent_path());
    record(std::move(synced), [] {});
  }
}

std::unique_ptr<StorageFile> RecordingStorage::create(const Path& file) {
  const std::lock_guard lock(mutex_);
  Recorded recorded;
  recorded.kind = Kind::create;
  recorded.path = inside(file);
  recorded.file = files_++;
  const int64_t number = recorded.file;
  std::unique_ptr<StorageFile> opened;
  record(std::move(recorded), [&] { opened = disk_.create(file); });
  return std::make_unique<File>(*this, std::move(opened), inside(file), number);
}

std::unique_ptr<StorageFile> RecordingStorage::append(const Path& file) {
  throw std::logic_error("a save appends to " + file.string());
}

void RecordingStorage::rename(const Path& from, const Path& to) {
  Recorded recorded;
  recorded.kind = Kind::rename;
  recorded.path = inside(from);
  recorded.target = inside(to);
  record(std::move(recorded), [&] { disk_.rename(from, to); });
}

void RecordingStorage::exchange(const Path& one, const Path& other) {
  Recorded recorded;
  recorded.kind = Kind::exchange;
  recorded.path = inside(one);
  recorded.target = inside(other);
  record(std::move(recorded), [&] { disk_.exchange(one, other); });
}

void RecordingStorage::sync_folder(const Path& folder) {
  Recorded recorded;
  recorded.kind = Kind::sync_folder;
  recorded.path = inside(folder);
  record(std::move(recorded), [&] { disk_.sync_folder(folder); });
}

void RecordingStorage::remove_all(const Path& path) {
  Recorded recorded;
  recorded.kind = Kind::remove_all;
  recorded.path = inside(path);
  record(std::move(recorded), [&] { disk_.remove_all(path); });
}

void RecordingStorage::replace_link(const Path& link, const Path& target) {
  Recorded recorded;
  recorded.kind = Kind::link;
  recorded.path = inside(link);
  recorded.target = target.string();
  record(std::move(recorded), [&] { disk_.replace_link(link, target); });
}

void RecordingStorage::point(std::string_view name) {
  if (name != "checkpoint.committed") return;
  const std::lock_guard lock(mutex_);
  for (auto last = recording_.rbegin(); last != recording_.rend(); ++last) {
    if ((last->kind == Kind::rename || last->kind == Kind::exchange) && step_of(last->target) >= 0)
      return announce(step_of(last->target));
  }
  throw std::logic_error("a checkpoint was committed without a rename");
}

}  // namespace larmor::testing
