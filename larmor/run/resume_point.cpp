#include "larmor/run/resume_point.h"

#include <algorithm>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/checkpoint/data_order.h"

namespace larmor {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view aside_prefix = "checkpoints.before-";

std::string names_of(const std::vector<CheckpointEntry>& entries) {
  std::vector<std::string> names;
  for (const auto& entry : entries) names.push_back(entry.folder.filename().string());
  return join(names, ", ");
}

bool is_set_aside(const RunFolder& folder, const CheckpointEntry& entry) {
  const auto parent = fs::weakly_canonical(entry.folder).parent_path();
  return parent.parent_path() == fs::weakly_canonical(folder.root) &&
         parent.filename().string().starts_with(aside_prefix);
}

std::vector<CheckpointEntry> from_step(const RunFolder& folder, int64_t first) {
  auto entries = list_checkpoints(folder.checkpoints(), /*verify=*/false);
  std::erase_if(entries, [&](const auto& entry) { return entry.step < first; });
  return entries;
}

CheckpointEntry whole_one(const fs::path& path) {
  auto entry = verify_checkpoint(path);
  if (!entry.ok) {
    fail(Exit::checkpoint, text("the checkpoint ", path.string(), " is not good: ", entry.reason),
         "larmor checkpoint list RUN --json shows the ones that there are");
  }
  return entry;
}

ResumePoint point_at(const RunFolder& folder, const fs::path& path) {
  ResumePoint point;
  point.entry = whole_one(path);
  const bool is_own = is_own_checkpoint(folder, *point.entry);
  point.left = from_step(folder, point.entry->step + (is_own ? 1 : 0));
  if (!is_own && !is_set_aside(folder, *point.entry)) point.origin = fs::absolute(point.entry->folder);
  return point;
}

// The newest that is whole, of all that are not older than the origin.
ResumePoint newest_point(const RunFolder& folder, const fs::path& origin) {
  ResumePoint point;
  if (origin.empty()) {
    point.entry = newest_good(folder.checkpoints(), &point.damaged);
    return point;
  }
  point.origin = origin;
  const auto begun = verify_checkpoint(origin);
  const auto first = begun.step + 1;
  for (const auto& listed : from_step(folder, first)) {
    auto entry = verify_checkpoint(listed.folder);
    if (entry.ok) {
      point.entry = std::move(entry);
      return point;
    }
    point.damaged.push_back(std::move(entry));
  }
  if (!begun.ok) {
    fail(Exit::checkpoint,
         text("the run began from ", origin.string(), " and has no later checkpoint that is whole, and ",
              begun.reason),
         "put it back; or choose with --resume PATH, or start anew with --resume never");
  }
  point.entry = begun;
  return point;
}

std::string leave_all_behind(const RunFolder& folder, int64_t generation, Storage& storage) {
  const auto all = folder.checkpoints();
  if (!fs::exists(all) || fs::is_empty(all)) return "";
  const auto aside = folder.root / text(aside_prefix, generation);
  storage.rename(all, aside);
  return text("starting anew; earlier checkpoints were moved to ", aside.string());
}

}  // namespace

std::string to_text(const ResumeChoice& choice) {
  if (choice.kind == ResumeChoice::Kind::path) return choice.path.string();
  return choice.kind == ResumeChoice::Kind::never ? "never" : "auto";
}

ResumePoint find_resume_point(const RunFolder& folder, const ResumeChoice& choice, const fs::path& origin) {
  ResumePoint point;
  if (choice.kind == ResumeChoice::Kind::never) {
    point.starts_anew = true;
    return point;
  }
  point =
      choice.kind == ResumeChoice::Kind::path ? point_at(folder, choice.path) : newest_point(folder, origin);
  if (point.entry) require_current_order(*point.entry);
  return point;
}

std::vector<std::string> settle_resume_point(ResumePoint& point, const RunFolder& folder, int64_t generation,
                                             bool lower_is_better, Storage& storage) {
  std::vector<std::string> notes;
  if (point.starts_anew) {
    if (auto note = leave_all_behind(folder, generation, storage); !note.empty()) notes.push_back(note);
    return notes;
  }
  if (!point.damaged.empty()) {
    const auto aside = set_aside(point.damaged, folder.checkpoints(), generation, storage);
    for (const auto& bad : point.damaged) {
      notes.push_back(text("passed over the damaged checkpoint ", bad.folder.string(), ": ", bad.reason,
                           "; it was moved to ", aside.string()));
    }
  }
  if (!point.left.empty()) {
    const auto aside = set_aside(point.left, folder.checkpoints(), generation, storage);
    notes.push_back(text("going back to step ", point.entry->step, ": ", names_of(point.left),
                         point.left.size() == 1 ? " was" : " were", " moved to ", aside.string(),
                         "; --resume with a checkpoint in there takes it back"));
  }
  if (point.entry && is_set_aside(folder, *point.entry)) {
    const auto place = folder.checkpoints() / point.entry->folder.filename();
    notes.push_back(text("took ", point.entry->folder.string(), " back"));
    storage.rename(point.entry->folder, place);
    storage.sync_folder(folder.checkpoints());
    point.entry->folder = place;
  }
  renew_links(folder.checkpoints(), storage, lower_is_better);
  return notes;
}

bool is_own_checkpoint(const RunFolder& folder, const CheckpointEntry& entry) {
  return fs::weakly_canonical(entry.folder).parent_path() == fs::weakly_canonical(folder.checkpoints());
}

SameOrigin compare_origin(const CheckpointEntry& entry, const std::string& config_sha256,
                          const std::string& index_sha256) {
  return {.config = entry.manifest.at("config_sha256") == config_sha256,
          .index = entry.manifest.at("index_sha256") == index_sha256};
}

}  // namespace larmor
