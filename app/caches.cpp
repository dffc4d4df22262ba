#include "app/caches.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <system_error>

#include "larmor/base/files/removal.h"
#include "larmor/base/files/user_cache.h"
#include "larmor/base/text.h"
#include "larmor/data/cache/cache_folder.h"

namespace larmor::app {

namespace fs = std::filesystem;

namespace {

bool is_private(const fs::path& path) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0 && (status.st_mode & (S_IRWXG | S_IRWXO)) == 0;
}

CacheReport report_on(const std::string& what, const fs::path& folder, const std::string& emptied_by) {
  return {.what = what,
          .folder = folder,
          .bytes = bytes_freed_by(folder),
          .is_private = is_private(folder),
          .emptied_by = emptied_by};
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (const auto& item : fs::directory_iterator(folder, error)) entries.push_back(item.path());
  std::ranges::sort(entries);
  return entries;
}

/// Images, then tables, which lie among them.
std::vector<CacheReport> reports_on_prepared(const fs::path& folder) {
  std::vector<CacheReport> reports{report_on("prepared images", folder, "larmor prepare WORKLOAD --clean")};
  for (const auto& entry : entries_of(folder)) {
    if (!entry.filename().string().starts_with("questions-")) continue;
    reports.push_back(report_on("tables of questions", entry, "rm -r " + entry.string()));
    reports.front().bytes -= std::min(reports.front().bytes, reports.back().bytes);
  }
  return reports;
}

bool is_within(const fs::path& path, const char* variable) {
  const char* const value = std::getenv(variable);
  if (value == nullptr || *value == '\0') return false;
  const auto below =
      fs::absolute(path).lexically_normal().lexically_relative(fs::path(value).lexically_normal());
  return !below.empty() && *below.begin() != "..";
}

}  // namespace

std::vector<CacheReport> cache_reports() {
  std::vector<CacheReport> caches;
  std::error_code absent;
  const auto all = user_cache_folder();  // of an empty path there are no entries
  for (const auto& entry : entries_of(all)) {
    if (!fs::is_directory(entry, absent)) continue;
    const auto name = entry.filename().string();
    if (name == "prepared") {
      const auto prepared = reports_on_prepared(entry);
      caches.insert(caches.begin(), prepared.begin(), prepared.end());
      continue;
    }
    const bool is_library = name.starts_with("libtorch");
    caches.push_back(
        report_on(is_library ? "libtorch, for building larmor" : name, entry, "rm -r " + entry.string()));
  }
  if (const auto windows = memory_folder(); fs::is_directory(windows, absent))
    caches.push_back(report_on("windows of SmartCache, in memory", windows,
                               "the end of the runs that use them; rm -r " + windows.string()));
  return caches;
}

Json to_json(const std::vector<CacheReport>& caches) {
  Json rows = Json::array();
  for (const auto& cache : caches) {
    rows.push_back({{"what", cache.what},
                    {"folder", cache.folder.string()},
                    {"bytes", cache.bytes},
                    {"private", cache.is_private},
                    {"emptied_by", cache.emptied_by}});
  }
  return rows;
}

Lines lines_of(const std::vector<CacheReport>& caches) {
  Lines lines("what larmor keeps for this user");
  if (caches.empty()) lines.add("  nothing");
  for (const auto& cache : caches) {
    lines.add(text("  ", human_bytes(cache.bytes), "  ", cache.what, " in ", cache.folder.string()));
    lines.add(text("      emptied by: ", cache.emptied_by));
    if (!cache.is_private)
      lines.add(text("      others may look into it: chmod 700 ", cache.folder.string()));
  }
  return lines;
}

std::string prepared_images_message(const DataConfig& data, const std::string& workload) {
  const auto folder = chosen_cache_folder(data);
  return text("images that were prepared from the data stay in ", folder.string(),
              is_within(folder, "HOME") ? ", in your home folder," : "", " until `larmor prepare ", workload,
              data.cache_folder.empty() ? "" : " data.cache_folder=", data.cache_folder,
              " --clean` removes them; data.cache_folder= puts them elsewhere");
}

}  // namespace larmor::app
