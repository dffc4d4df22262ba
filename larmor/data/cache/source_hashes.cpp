#include "larmor/data/cache/source_hashes.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <ctime>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/files/removal.h"
#include "larmor/base/hash.h"
#include "larmor/base/text.h"
#include "larmor/data/cache/source_files.h"

namespace larmor {
namespace {

constexpr uint64_t largest_index = uint64_t{256} << 20;
// A file may change twice within a tick of its clock: what is this young is not remembered.
constexpr int64_t settled_ns = 2'000'000'000;

int64_t nanoseconds(const timespec& time) { return time.tv_sec * int64_t{1'000'000'000} + time.tv_nsec; }

int64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return nanoseconds(now);
}

// The words before the path, which may hold blanks itself.
template <std::size_t count>
bool cut_words(std::string_view line, std::array<std::string_view, count>& words) {
  for (std::size_t i = 0; i + 1 < count; ++i) {
    const std::size_t blank = line.find(' ');
    if (blank == std::string_view::npos) return false;
    words[i] = line.substr(0, blank);
    line.remove_prefix(blank + 1);
  }
  words[count - 1] = line;
  return true;
}

template <class Number>
bool read_number(std::string_view word, Number& number) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  return error == std::errc() && end == word.data() + word.size();
}

}  // namespace

SourceHashes::SourceHashes(Storage& storage, std::filesystem::path file)
    : storage_(storage), file_(std::move(file)) {
  load();
}

SourceHashes::State SourceHashes::state_of(const std::filesystem::path& file) {
  struct stat status{};
  if (::stat(file.c_str(), &status) != 0)
    fail(Exit::data, text(file.string(), ": cannot be read: ", std::strerror(errno)), "check the path");
  return {static_cast<uint64_t>(status.st_size), static_cast<uint64_t>(status.st_ino),
          nanoseconds(status.st_mtim), nanoseconds(status.st_ctim)};
}

void SourceHashes::load() {
  std::string content;
  std::error_code error;
  if (!std::filesystem::exists(file_, error)) return;
  try {
    content = read_text(file_, largest_index);
  } catch (const Error&) {
    return;  // files are hashed anew
  }
  std::size_t lines = 0;
  for (std::string_view rest = content; !rest.empty(); ++lines) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    std::array<std::string_view, 7> words;  // check sha256 size inode modified changed path
    Known known;
    uint64_t check = 0;
    if (!cut_words(line, words) || !read_number(words[0], check) ||
        check != fast_hash(line.substr(words[0].size())))
      continue;
    if (!read_number(words[2], known.state.size) || !read_number(words[3], known.state.inode) ||
        !read_number(words[4], known.state.modified_ns) || !read_number(words[5], known.state.changed_ns)) {
      continue;
    }
    known.sha256 = words[1];
    known_.insert_or_assign(std::string(words[6]), std::move(known));
  }
  // Mostly lines that newer ones have overtaken: begun anew.
  if (lines < 1000 || lines < 2 * known_.size()) return;
  try {
    remove_file(storage_, file_);
    for (const auto& [path, known] : std::exchange(known_, {})) remember(path, known);
  } catch (const Error&) {
    can_write_ = false;
  }
}

void SourceHashes::remember(const std::string& file, const Known& known) {
  known_.insert_or_assign(file, known);
  if (!can_write_ || file.find('\n') != std::string::npos) return;
  const State& state = known.state;
  const std::string line = text(" ", known.sha256, " ", state.size, " ", state.inode, " ", state.modified_ns,
                                " ", state.changed_ns, " ", file);
  try {
    const auto log = storage_.append(file_);
    log->write(text(fast_hash(line), line, "\n"));
    log->close();
  } catch (const Error&) {
    can_write_ = false;
  }
}

std::string SourceHashes::of_file(const std::filesystem::path& file) {
  const int64_t began = now_ns();
  const State state = state_of(file);
  {
    const std::lock_guard lock(mutex_);
    const auto known = known_.find(file.string());
    if (known != known_.end() && known->second.state == state) return known->second.sha256;
  }
  std::string hash;
  try {
    hash = sha256_of_file(file);
  } catch (const Error& error) {
    fail(Exit::data, error.message(), error.hint());
  }
  if (state_of(file) != state) {
    fail(Exit::data, text(file.string(), ": changed while it was read"),
         "start again when nobody writes to it");
  }
  const bool settled = std::max(state.modified_ns, state.changed_ns) + settled_ns < began;
  const std::lock_guard lock(mutex_);
  if (settled) remember(file.string(), {state, hash});
  return hash;
}

std::string SourceHashes::of(const std::filesystem::path& source) {
  const std::string name = source.string();
  const std::size_t mark = name.rfind('#');
  std::error_code error;
  if (mark != std::string::npos && !std::filesystem::exists(source, error) &&
      std::filesystem::is_directory(name.substr(0, mark), error)) {
    return sha256(text(of(name.substr(0, mark)), " ", name.substr(mark)));
  }
  const auto files = source_files(source);
  if (files.size() == 1 && files.front() == source) return of_file(source);
  std::string all;
  for (const auto& file : files) all += text(of_file(file), " ", file.filename().string(), "\n");
  return sha256(all);
}

}  // namespace larmor
