#include "larmor/data/cache/source_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <span>
#include <system_error>
#include <thread>

#include "larmor/base/error.h"
#include "larmor/base/files/regular_file.h"
#include "larmor/base/hash.h"
#include "larmor/base/log.h"
#include "larmor/base/text.h"
#include "larmor/formats/dicom/dicom_series.h"
#include "larmor/formats/volume_files.h"

namespace larmor {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t block_bytes = 16 << 10;
constexpr uint64_t most_blocks = 8, fewest_blocks = 2;
/// From so many files on, a look all over each of them takes minutes.
constexpr std::size_t many_files = 5000;
constexpr std::size_t files_between_lines = 50'000;

int64_t nanoseconds_of(const struct stat& status) {
  return status.st_mtim.tv_sec * int64_t{1'000'000'000} + status.st_mtim.tv_nsec;
}

// Evenly spread over the file, the first at its beginning and the last at its end.
std::string sample_of(const RegularFile& file, uint64_t blocks) {
  const bool is_small = file.size() <= blocks * block_bytes;
  const uint64_t count = is_small ? 1 : blocks, length = is_small ? file.size() : block_bytes;
  std::string bytes(count * length, '\0');
  for (uint64_t block = 0; block < count; ++block) {
    const uint64_t last = file.size() - length;
    const uint64_t start = block + 1 < count ? last / (count - 1) * block : last;
    file.read_at(start, std::as_writable_bytes(std::span(bytes).subspan(block * length, length)));
  }
  return bytes;
}

FileState state_of_file(const fs::path& path, uint64_t blocks) {
  const RegularFile file = open_regular(path);
  struct stat status{};
  if (::fstat(file.descriptor(), &status) != 0) fail(Exit::data, "cannot be looked at");
  return {.bytes = file.size(),
          .modified_ns = nanoseconds_of(status),
          .sample = fast_hash(sample_of(file, blocks))};
}

}  // namespace

std::vector<fs::path> source_files(const fs::path& source) {
  std::vector<fs::path> files;
  std::error_code error;
  if (fs::is_directory(source, error)) {
    for (const auto& item : fs::directory_iterator(source, error)) {
      if (item.is_regular_file(error)) files.push_back(item.path());
    }
    std::sort(files.begin(), files.end());
    return files;
  }
  return files_of_volume(source);
}

std::optional<FileState> state_of_source(const fs::path& source, bool of_many) try {
  std::error_code error;
  const fs::path place = place_of(source);
  const bool is_folder = fs::is_directory(place, error);
  const auto files = source_files(place);
  FileState state;
  std::string samples;
  for (const fs::path& file : files) {
    const FileState one = state_of_file(file, is_folder || of_many ? fewest_blocks : most_blocks);
    state.bytes += one.bytes;
    state.modified_ns = std::max(state.modified_ns, one.modified_ns);
    samples += text(file.filename().string(), ' ', one.bytes, ' ', one.sample, '\n');
    state.sample = one.sample;
  }
  if (files.empty()) return std::nullopt;
  // A file that was given another name is the same file.
  if (files.size() > 1) state.sample = fast_hash(samples);
  return state;
} catch (const std::exception&) {  // of a folder that cannot be listed, too
  return std::nullopt;
}

void over_threads(std::size_t count, const std::function<void(std::size_t)>& work) {
  constexpr std::size_t most_threads = 8;
  std::atomic<std::size_t> next{0};
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < std::min(most_threads, count); ++i) {
    threads.emplace_back([&] {
      for (std::size_t mine = next++; mine < count; mine = next++) work(mine);
    });
  }
}

namespace {

bool has_many_files(const Index& index) { return index.distinct_files().size() >= many_files; }

/// Whether `source` is one file of the size and the time of change that are remembered.
bool looks_as(const FileState& known, const fs::path& source) {
  if (place_of(source) != source || source_files(source).size() != 1) return false;
  struct stat status{};
  if (::stat(source.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  return static_cast<uint64_t>(status.st_size) == known.bytes && nanoseconds_of(status) == known.modified_ns;
}

/// Of each file what `look` makes of it, from a few threads, with a line now and then.
std::map<std::string, FileState> look_at_files(
    const Index& index, const std::function<std::optional<FileState>(const std::string&)>& look) {
  if (index.is_invented()) return {};
  const auto files = index.distinct_files();
  std::vector<std::optional<FileState>> found(files.size());
  std::atomic<std::size_t> done{0};
  over_threads(files.size(), [&](std::size_t i) {
    found[i] = look(files[i]);
    const std::size_t count = ++done;
    if (count % files_between_lines == 0)
      log::info(text("what the files look like: ", count, " of ", files.size()));
  });
  std::map<std::string, FileState> states;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (found[i]) states.emplace(files[i], *found[i]);
  }
  return states;
}

}  // namespace

std::map<std::string, FileState> states_of_files(const Index& index) {
  const bool of_many = has_many_files(index);
  return look_at_files(
      index, [&](const std::string& file) { return state_of_source(index.folder / file, of_many); });
}

std::map<std::string, FileState> states_since(const Index& start, const Index& now) {
  const bool of_many = has_many_files(start);
  return look_at_files(now, [&](const std::string& file) -> std::optional<FileState> {
    const auto known = start.states.find(file);
    const fs::path path = now.folder / file;
    if (of_many && known != start.states.end() && looks_as(known->second, path)) return known->second;
    return state_of_source(path, of_many);
  });
}

}  // namespace larmor
