#include "larmor/data/index/sound_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/hash.h"
#include "larmor/base/text.h"

namespace larmor {
namespace {

constexpr std::string_view heading = "larmor sound files 1 ";
constexpr uint64_t largest_list = uint64_t{1} << 30;

int64_t nanoseconds_of(const timespec& time) { return time.tv_sec * int64_t{1'000'000'000} + time.tv_nsec; }

// "size inode modified changed path"
bool read_line(std::string_view line, SoundFiles::State& state, std::string& path) {
  std::array<int64_t, 4> numbers{};
  for (int64_t& number : numbers) {
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
    const auto length = static_cast<std::size_t>(end - line.data());
    if (error != std::errc() || length >= line.size() || line[length] != ' ') return false;
    line.remove_prefix(length + 1);
  }
  state = {static_cast<uint64_t>(numbers[0]), static_cast<uint64_t>(numbers[1]), numbers[2], numbers[3]};
  path = line;
  return !path.empty();
}

}  // namespace

SoundFiles::SoundFiles(Storage& storage, std::filesystem::path list, std::chrono::nanoseconds settled)
    : storage_(storage), list_(std::move(list)), settled_(settled) {
  load();
}

// The first line has the hash of all that follow.
void SoundFiles::load() {
  std::string content;
  try {
    if (!std::filesystem::exists(list_)) return;
    content = read_text(list_, largest_list);
  } catch (const std::exception&) {
    return;  // files are looked at anew
  }
  const std::size_t first = content.find('\n');
  if (first == std::string::npos) return;
  std::string_view lines = std::string_view(content).substr(first + 1);
  if (content.substr(0, first) != text(heading, fast_hash(lines))) return;
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    State state;
    std::string path;
    if (read_line(lines.substr(0, end), state, path)) known_.insert_or_assign(std::move(path), state);
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
}

std::optional<SoundFiles::State> SoundFiles::state_of(const std::filesystem::path& file) {
  struct stat status{};
  if (::stat(file.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return State{static_cast<uint64_t>(status.st_size), static_cast<uint64_t>(status.st_ino),
               nanoseconds_of(status.st_mtim), nanoseconds_of(status.st_ctim)};
}

bool SoundFiles::has(const std::filesystem::path& file, const State& state) const {
  const std::lock_guard lock(mutex_);
  const auto known = known_.find(file.string());
  return known != known_.end() && known->second == state;
}

void SoundFiles::add(const std::filesystem::path& file, const State& state) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const bool is_young =
      std::max(state.modified_ns, state.changed_ns) + settled_.count() > nanoseconds_of(now);
  if (is_young || file.native().find('\n') != std::string::npos) return;
  const std::lock_guard lock(mutex_);
  known_.insert_or_assign(file.string(), state);
  has_new_ = true;
}

void SoundFiles::save() {
  const std::lock_guard lock(mutex_);
  if (!has_new_) return;
  std::string lines;
  for (const auto& [path, state] : known_) {
    lines +=
        text(state.size, ' ', state.inode, ' ', state.modified_ns, ' ', state.changed_ns, ' ', path, '\n');
  }
  try {
    storage_.create_folders(list_.parent_path());
    write_text(storage_, list_, text(heading, fast_hash(lines), '\n', lines));
    has_new_ = false;
  } catch (const Error&) {  // the next start looks at them again
  }
}

}  // namespace larmor
