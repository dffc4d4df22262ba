#include "larmor/base/files/fenced_storage.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/process/descriptor.h"
#include "larmor/base/process/system_error.h"
#include "larmor/base/text.h"

namespace larmor {
namespace {

[[noreturn]] void fail_behind_fence(int64_t own, int64_t newest) {
  fail(Exit::rank_lost,
       text("this rank belongs to generation ", own, " of the run, which is at ", newest,
            " by now: it writes nothing"),
       "nothing is lost: the run went on without this rank, which had been silent for too long");
}

}  // namespace

std::optional<int64_t> read_fence(const std::filesystem::path& fence_file) {
  Descriptor file;
  // On network file systems an old handle may be stale once: the file has been replaced.
  for (int tries = 0; !file.is_open() && tries < 3; ++tries) {
    file.reset(after_signals([&] { return ::open(fence_file.c_str(), O_RDONLY | O_CLOEXEC); }));
    if (!file.is_open() && errno == ENOENT) return std::nullopt;
    if (!file.is_open() && errno != ESTALE) break;
  }
  if (!file.is_open()) fail_errno(errno, "open the fence", fence_file);
  std::array<char, 32> content;
  const ssize_t count = after_signals([&] { return ::read(file.number(), content.data(), content.size()); });
  if (count < 0) fail_errno(errno, "read the fence", fence_file);
  const std::string_view written = trim(std::string_view(content.data(), static_cast<size_t>(count)));
  int64_t generation = -1;
  const auto [end, problem] = std::from_chars(written.data(), written.data() + written.size(), generation);
  if (problem != std::errc() || end != written.data() + written.size() || generation < 0) {
    fail(Exit::environment, text(fence_file.string(), " names no generation"),
         "remove it: the next start of the run writes it anew");
  }
  return generation;
}

void check_fence(const std::filesystem::path& fence_file, int64_t generation) {
  const auto newest = read_fence(fence_file);
  if (newest && *newest > generation) fail_behind_fence(generation, *newest);
}

void raise_fence(Storage& storage, const std::filesystem::path& fence_file, int64_t generation) {
  std::optional<int64_t> stands;
  try {
    stands = read_fence(fence_file);
  } catch (const Error&) {
    // A damaged fence keeps everybody out; the new one takes its place.
  }
  if (stands && *stands > generation) fail_behind_fence(generation, *stands);
  if (stands != generation) write_text(storage, fence_file, text(generation, "\n"));
}

FencedStorage::FencedStorage(std::unique_ptr<Storage> inner, Path fence_file, int64_t generation)
    : HookedStorage(std::move(inner)), fence_file_(std::move(fence_file)), generation_(generation) {}

void FencedStorage::before() const { check_fence(fence_file_, generation_); }

}  // namespace larmor
