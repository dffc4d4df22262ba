#include "larmor/checkpoint/retention.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/files/removal.h"
#include "larmor/base/log.h"
#include "larmor/base/text.h"
#include "larmor/checkpoint/manifest.h"

namespace larmor {

namespace fs = std::filesystem;

namespace {

/// One checkpoint while it is decided upon.
struct Candidate {
  CheckpointEntry entry;
  bool is_read = false;  // entry is verify()'s
  bool is_kept = false;
};

// Of two that have a metric: of equal ones the earlier is better.
bool is_better(const CheckpointEntry& a, const CheckpointEntry& b, bool lower_is_better) {
  const double one = a.metric.value_or(0), other = b.metric.value_or(0);
  if (one == other) return a.step < b.step;
  return lower_is_better ? one < other : one > other;
}

// Best first; those without a metric are not among them.
std::vector<Candidate*> by_metric(std::vector<Candidate>& candidates, bool lower_is_better) {
  std::vector<Candidate*> rated;
  for (auto& one : candidates) {
    if (one.entry.ok && one.entry.metric) rated.push_back(&one);
  }
  std::sort(rated.begin(), rated.end(), [&](const Candidate* a, const Candidate* b) {
    return is_better(a->entry, b->entry, lower_is_better);
  });
  return rated;
}

bool is_whole(Candidate& candidate, WholeCheckpoints& whole) {
  if (candidate.entry.ok && !candidate.is_read) candidate.entry = whole.verify(candidate.entry.folder);
  candidate.is_read = true;
  return candidate.entry.ok;
}

void set_link(const fs::path& link, const CheckpointEntry* entry, Storage& storage) {
  std::error_code none;
  const bool is_link = fs::is_symlink(link, none);
  if (!is_link && fs::exists(link, none)) {
    log::warning(text(link.string(), " is no link, and stays as it is: rename it"));
    return;
  }
  if (entry == nullptr) {
    if (is_link) remove_file(storage, link);
    return;
  }
  const auto name = entry->folder.filename();
  if (!is_link || fs::read_symlink(link, none) != name) storage.replace_link(link, name);
}

}  // namespace

const CheckpointEntry* best_of(const std::vector<CheckpointEntry>& entries, bool lower_is_better) {
  const CheckpointEntry* best = nullptr;
  for (const auto& entry : entries) {
    if (!entry.ok || !entry.metric) continue;
    if (best == nullptr || is_better(entry, *best, lower_is_better)) best = &entry;
  }
  return best;
}

SortedCheckpoints sort_checkpoints(const fs::path& folder, const Retention& retention,
                                   std::optional<int64_t> committed, WholeCheckpoints& whole) {
  std::vector<Candidate> candidates;
  for (auto& entry : list_checkpoints(folder, /*verify=*/false)) {
    if (!committed || entry.step <= *committed) candidates.push_back({.entry = std::move(entry)});
  }
  // Reads on until enough are whole: what is damaged takes nobody's place.
  int64_t last = 0;
  for (auto& one : candidates) {
    if (last >= std::max<int64_t>(retention.keep_last, 1)) break;
    one.is_kept = is_whole(one, whole);
    last += one.is_kept ? 1 : 0;
  }
  SortedCheckpoints sorted;
  int64_t best = 0;
  for (auto* one : by_metric(candidates, retention.lower_is_better)) {
    if (best >= std::max<int64_t>(retention.keep_best, 1)) break;
    if (!is_whole(*one, whole)) continue;
    if (best++ == 0) sorted.best = one->entry;
    one->is_kept = one->is_kept || best <= retention.keep_best;
  }
  for (auto& one : candidates) {
    one.is_kept = one.is_kept || (one.entry.ok && one.entry.pinned);
    auto& group = one.is_kept ? sorted.kept : one.entry.ok ? sorted.surplus : sorted.damaged;
    group.push_back(std::move(one.entry));
  }
  return sorted;
}

void link_kept(const SortedCheckpoints& sorted, const fs::path& folder, Storage& storage,
               bool lower_is_better) {
  set_link(folder / "last", sorted.kept.empty() ? nullptr : &sorted.kept.front(), storage);
  set_link(folder / "best", best_of(sorted.kept, lower_is_better), storage);
}

void remove_checkpoints(const std::vector<CheckpointEntry>& entries, const fs::path& folder,
                        Storage& storage) {
  std::vector<fs::path> trash;
  for (const auto& entry : entries) {
    const auto place = folder / text(".trash-", entry.folder.filename().string());
    storage.rename(entry.folder, place);
    std::error_code none;
    if (!entry.pinned && fs::exists(place / pin_name, none)) {
      storage.rename(place, entry.folder);  // pinned since it was looked at: from here on no pin can be set
    } else {
      trash.push_back(place);
    }
  }
  // The new names have to be on the disk before a file goes: otherwise a power cut could leave half a
  // checkpoint under its old one.
  if (!trash.empty()) storage.sync_folder(folder);
  for (const auto& path : trash) {
    if (!remove_own(storage, path, is_checkpoint_file))
      log::warning(text(path.string(), " stays: it holds files that no checkpoint has; move them elsewhere"));
  }
}

Pruned prune_checkpoints(const fs::path& folder, Storage& storage, const Retention& retention) {
  WholeCheckpoints whole;
  auto sorted = sort_checkpoints(folder, retention, /*committed=*/{}, whole);
  Pruned pruned{.removed = {}, .damaged = std::move(sorted.damaged)};
  if (sorted.kept.empty()) return pruned;
  link_kept(sorted, folder, storage, retention.lower_is_better);
  remove_checkpoints(sorted.surplus, folder, storage);
  for (const auto& entry : sorted.surplus) {
    if (!fs::exists(entry.folder))
      pruned.removed.push_back(entry.folder);  // it may have been pinned meanwhile
  }
  return pruned;
}

void pin_checkpoint(const fs::path& checkpoint, bool pinned, Storage& storage) {
  const auto pin = checkpoint / pin_name;
  if (!pinned) {
    remove_file(storage, pin);
  } else {
    try {
      write_text(storage, pin, "");
    } catch (const Error&) {
      std::error_code none;
      if (fs::exists(checkpoint, none)) throw;
      fail(Exit::checkpoint, text(checkpoint.string(), " has been removed meanwhile"),
           "larmor checkpoint list RUN shows those that there are");
    }
  }
  storage.sync_folder(checkpoint);
}

void renew_links(const fs::path& folder, Storage& storage, bool lower_is_better) {
  auto entries = list_checkpoints(folder, /*verify=*/false);
  std::erase_if(entries, [](const auto& entry) { return !entry.ok; });
  set_link(folder / "last", entries.empty() ? nullptr : &entries.front(), storage);
  set_link(folder / "best", best_of(entries, lower_is_better), storage);
}

fs::path set_aside(const std::vector<CheckpointEntry>& entries, const fs::path& folder, int64_t generation,
                   Storage& storage) {
  const auto first = text(folder.string(), ".before-", generation);
  const auto is_taken = [&](const fs::path& aside) {
    return std::any_of(entries.begin(), entries.end(),
                       [&](const auto& entry) { return fs::exists(aside / entry.folder.filename()); });
  };
  fs::path aside = first;
  for (int number = 2; is_taken(aside); ++number) aside = text(first, "-", number);
  storage.create_folders(aside);
  for (const auto& entry : entries) storage.rename(entry.folder, aside / entry.folder.filename());
  storage.sync_folder(aside);
  storage.sync_folder(folder);
  storage.sync_folder(aside.parent_path());
  return aside;
}

}  // namespace larmor
