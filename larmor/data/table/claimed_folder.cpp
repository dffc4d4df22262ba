#include "larmor/data/table/claimed_folder.h"

#include <algorithm>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "larmor/base/error.h"
#include "larmor/base/log.h"
#include "larmor/base/text.h"

namespace larmor {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int most_folders = 16;
constexpr milliseconds pause(100), between_words(10'000);

/// Grows and changes while somebody writes into the folder.
std::pair<std::uintmax_t, fs::file_time_type> look_of(const fs::path& folder) {
  std::pair<std::uintmax_t, fs::file_time_type> look{0, fs::file_time_type::min()};
  std::error_code error;
  for (fs::directory_iterator file(folder, error), end; !error && file != end; file.increment(error)) {
    std::error_code gone;
    const auto bytes = file->file_size(gone);
    if (!gone) look.first += bytes + 1;
    const auto written = file->last_write_time(gone);
    if (!gone) look.second = std::max(look.second, written);
  }
  return look;
}

std::optional<FileLock> try_to_lock(const fs::path& folder, std::string& why) {
  try {
    return FileLock(fs::path(folder).concat(".lock"));
  } catch (const Error& error) {
    why = error.message();
    return std::nullopt;
  }
}

/// Nothing where who holds it has written nothing for so long.
std::optional<FileLock> wait_for_lock(const fs::path& folder, milliseconds patience,
                                      const std::function<void()>& each_look, std::string& why) {
  auto look = look_of(folder);
  auto changed = steady_clock::now(), said = changed;
  while (steady_clock::now() - changed < patience) {
    if (auto lock = try_to_lock(folder, why)) return lock;
    std::this_thread::sleep_for(std::min(pause, patience));
    each_look();
    const auto now = steady_clock::now();
    if (auto next = look_of(folder); next != look) {
      look = next;
      changed = now;
    }
    if (now - said < between_words) continue;
    said = now;
    log::info(text("waiting for tables that another process writes: ", why));
  }
  return try_to_lock(folder, why);
}

}  // namespace

std::vector<fs::path> folders_to_claim(const fs::path& folder) {
  std::vector<fs::path> all{folder};
  for (int number = 2; number <= most_folders; ++number)
    all.push_back(fs::path(folder).concat(text("-", number)));
  return all;
}

ClaimedFolder claim_folder(const fs::path& folder, milliseconds patience,
                           const std::function<void()>& each_look) {
  std::string why;
  for (const auto& one : folders_to_claim(folder)) {
    if (auto lock = wait_for_lock(one, patience, each_look, why)) return {one, std::move(*lock)};
    log::warning(text(why, ", and nothing has been written there for ",
                      human_seconds(std::chrono::duration<double>(patience).count()),
                      ": the tables are written beside it"));
  }
  fail(Exit::environment, why, "end the processes that hold the folder, or name another data.cache_folder");
}

}  // namespace larmor
