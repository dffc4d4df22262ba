// Which checkpoints a folder holds, which of them are whole, and which have served their time.
#include <algorithm>
#include <exception>

#include "larmor/base/error.h"
#include "larmor/base/hash.h"
#include "larmor/base/text.h"
#include "larmor/checkpoint/checkpoint.h"
#include "larmor/checkpoint/manifest.h"
#include "larmor/device/life_sign.h"

namespace larmor {

namespace fs = std::filesystem;

namespace {

bool is_checkpoint_name(const std::string& name) {
  constexpr std::string_view prefix = "step-";
  return name.size() > prefix.size() && name.starts_with(prefix) &&
         name.find_first_not_of("0123456789", prefix.size()) == std::string::npos;
}

// Fills in what the manifest says; a manifest that cannot be trusted leaves ok = false and the reason.
CheckpointEntry read_entry(const fs::path& folder) {
  CheckpointEntry entry;
  entry.folder = folder;
  try {
    std::error_code none;
    if (!fs::is_directory(folder, none)) fail(Exit::checkpoint, "there is no such folder");
    // What a damaged one is called by; a link such as `last` has no number.
    if (const auto name = folder.filename().string(); is_checkpoint_name(name))
      entry.step = std::stoll(name.substr(5));
    entry.manifest = open_manifest(folder);
    entry.step = entry.manifest.at("step").get<int64_t>();
    entry.epoch = entry.manifest.at("epoch").get<double>();
    entry.examples = entry.manifest.at("examples").get<int64_t>();
    entry.world_size = entry.manifest.at("world_size").get<int64_t>();
    if (const auto& metric = entry.manifest.at("metric"); metric.is_number())
      entry.metric = metric.get<double>();
    for (const auto& file : files_of(entry.manifest)) entry.bytes += file.bytes;
  } catch (const Error& error) {
    entry.ok = false;
    entry.reason = error.message();
  } catch (const std::exception& error) {
    entry.ok = false;
    entry.reason = text("its manifest is incomplete: ", error.what());
  }
  return entry;
}

void check_files(CheckpointEntry& entry) {
  for (const auto& file : files_of(entry.manifest)) {
    const auto path = entry.folder / file.name;
    std::error_code none;
    if (!fs::is_regular_file(path, none)) {
      entry.reason = file.name + " is missing";
    } else if (const auto bytes = fs::file_size(path, none); bytes != file.bytes) {
      entry.reason = text(file.name, " has ", bytes, " bytes and should have ", file.bytes);
    } else if (sha256_of_file(path) != file.sha256) {
      entry.reason = file.name + " does not match its SHA-256";
    }
    if (!entry.reason.empty()) {
      entry.ok = false;
      return;
    }
    show_life();
  }
}

// Best first; entries without a metric are not among them.
std::vector<const CheckpointEntry*> by_metric(const std::vector<CheckpointEntry>& entries,
                                              bool lower_is_better) {
  std::vector<const CheckpointEntry*> rated;
  for (const auto& entry : entries) {
    if (entry.metric) rated.push_back(&entry);
  }
  std::stable_sort(rated.begin(), rated.end(), [&](const CheckpointEntry* a, const CheckpointEntry* b) {
    return lower_is_better ? *a->metric < *b->metric : *a->metric > *b->metric;
  });
  return rated;
}

}  // namespace

CheckpointEntry verify_checkpoint(const fs::path& folder) {
  auto entry = read_entry(folder);
  if (entry.ok) check_files(entry);
  return entry;
}

std::vector<CheckpointEntry> list_checkpoints(const fs::path& folder, bool verify) {
  std::vector<CheckpointEntry> entries;
  std::error_code none;
  for (const auto& item : fs::directory_iterator(folder, none)) {
    if (item.is_symlink() || !item.is_directory() || !is_checkpoint_name(item.path().filename().string()))
      continue;
    entries.push_back(verify ? verify_checkpoint(item.path()) : read_entry(item.path()));
  }
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.step > b.step; });
  return entries;
}

std::optional<CheckpointEntry> newest_good(const fs::path& folder,
                                           std::vector<CheckpointEntry>* passed_over) {
  const auto entries = list_checkpoints(folder, /*verify=*/false);
  for (const auto& listed : entries) {
    auto entry = verify_checkpoint(listed.folder);
    if (entry.ok) return entry;
    if (passed_over != nullptr) passed_over->push_back(std::move(entry));
  }
  if (entries.empty()) return std::nullopt;
  fail(Exit::checkpoint,
       text("none of the ", entries.size(), " checkpoints in ", folder.string(), " is whole"),
       "larmor checkpoint verify says what is wrong with each; start anew with --resume never");
}

std::vector<fs::path> prune_checkpoints(const fs::path& folder, Storage& storage, int64_t keep_last,
                                        int64_t keep_best, bool lower_is_better) {
  const auto entries = list_checkpoints(folder, /*verify=*/false);
  std::vector<fs::path> kept;
  for (const auto& entry : entries) {
    // A damaged one does not count among those kept, and is not removed: someone may want to look at it.
    if (!entry.ok || static_cast<int64_t>(kept.size()) < keep_last) kept.push_back(entry.folder);
  }
  const auto rated = by_metric(entries, lower_is_better);
  for (size_t i = 0; i < rated.size() && static_cast<int64_t>(i) < keep_best; ++i)
    kept.push_back(rated[i]->folder);

  std::vector<fs::path> removed;
  for (const auto& entry : entries) {
    if (std::find(kept.begin(), kept.end(), entry.folder) != kept.end()) continue;
    // Out of sight in one step, so that a crash never leaves half a checkpoint under its name.
    const auto trash = folder / text(".trash-", entry.folder.filename().string());
    storage.rename(entry.folder, trash);
    storage.remove_all(trash);
    removed.push_back(entry.folder);
  }
  return removed;
}

NamedTensors read_checkpoint_file(const CheckpointEntry& entry, const std::string& file) {
  return read_tensors(entry.folder / file);
}

bool has_checkpoint_file(const CheckpointEntry& entry, const std::string& file) {
  const auto files = files_of(entry.manifest);
  return std::any_of(files.begin(), files.end(), [&](const auto& listed) { return listed.name == file; });
}

Json read_checkpoint_state(const CheckpointEntry& entry) { return read_json(entry.folder / state_name); }

}  // namespace larmor
