#include "larmor/data/cache/source_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <span>
#include <system_error>
#include <thread>

#include "larmor/base/error.h"
#include "larmor/base/hash.h"
#include "larmor/base/regular_file.h"
#include "larmor/base/text.h"
#include "larmor/formats/dicom/dicom_series.h"

namespace larmor {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t block_bytes = 16 << 10;
constexpr uint64_t most_blocks = 8;

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
          .modified_ns = status.st_mtim.tv_sec * int64_t{1'000'000'000} + status.st_mtim.tv_nsec,
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
  const std::string name = lower(source.filename().string());
  const std::string packing = name.ends_with(".gz") ? ".gz" : "";
  const std::string plain = name.substr(0, name.size() - packing.size());
  if (!plain.ends_with(".hdr") && !plain.ends_with(".img")) return {source};
  const std::string stem = source.string().substr(0, source.string().size() - packing.size() - 4);
  for (const char* const ending : {".hdr", ".hdr.gz", ".img", ".img.gz", ".HDR", ".IMG"}) {
    if (fs::exists(stem + ending, error)) files.emplace_back(stem + ending);
  }
  return files.empty() ? std::vector{source} : files;
}

std::optional<FileState> state_of_source(const fs::path& source) try {
  std::error_code error;
  const fs::path place = place_of(source);
  const bool is_folder = fs::is_directory(place, error);
  const auto files = source_files(place);
  FileState state;
  std::string samples;
  for (const fs::path& file : files) {
    const FileState one = state_of_file(file, is_folder ? 2 : most_blocks);
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

std::map<std::string, FileState> states_of_files(const Index& index) {
  if (index.is_invented()) return {};
  const auto files = index.distinct_files();
  std::vector<std::optional<FileState>> found(files.size());
  over_threads(files.size(), [&](std::size_t i) { found[i] = state_of_source(index.folder / files[i]); });
  std::map<std::string, FileState> states;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (found[i]) states.emplace(files[i], *found[i]);
  }
  return states;
}

}  // namespace larmor
