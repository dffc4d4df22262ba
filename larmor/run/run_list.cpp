#include "larmor/run/run_list.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/files/removal.h"
#include "larmor/base/files/temporary_name.h"
#include "larmor/base/json.h"
#include "larmor/base/text.h"
#include "larmor/checkpoint/checkpoint.h"

namespace larmor {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view trash_prefix = ".trash-";

Json environment_of(const RunFolder& folder) {
  try {
    return read_json(folder.environment());
  } catch (const std::exception&) {
    return Json::object();  // a run that has lost it stands in nobody's way
  }
}

bool is_below(const fs::path& path, const fs::path& folder) {
  const auto within = fs::weakly_canonical(path).lexically_relative(fs::weakly_canonical(folder));
  return !within.empty() && *within.begin() != "..";
}

/// Whether the other was begun from the run and lacks what it should have kept of it.
bool lacks_copy(const RunFolder& other, const Json& environment, const RunFolder& run) {
  const auto from = environment.value("from", Json::object());
  for (const auto& [key, record] : from.items()) {
    if (!is_below(record.value("run", ""), run.root)) continue;
    const auto* const kept = key == "run" ? "begun_from.json" : "earlier_run.json";
    std::error_code unknown;
    if (!fs::exists(other.from() / key / kept, unknown)) return true;
  }
  return false;
}

/// Whether the other goes on from a checkpoint of the run, until it has a later one of its own.
bool goes_on_from(const RunFolder& other, const Json& environment, const RunFolder& run) {
  const fs::path origin = environment.value("origin", "");
  if (origin.empty() || other.is_done() || !is_below(origin, run.root)) return false;
  const auto own = newest_committed(other);
  return !own || own->step <= open_checkpoint(origin).step;
}

/// The folders that a chain has claimed for the stages that build on this run, and that have not begun.
std::vector<RunFolder> waiting_in_chain(const RunFolder& run, const RunOutline& outline,
                                        const std::vector<Workload>& workloads) {
  std::vector<RunFolder> waiting;
  const auto name = run.root.filename().string();
  const auto ending = "-" + outline.stage;
  const auto workload =
      std::ranges::find_if(workloads, [&](const auto& one) { return one.name() == outline.workload; });
  if (workload == workloads.end() || !name.ends_with(ending)) return waiting;
  const auto chain = name.substr(0, name.size() - ending.size());
  for (const auto& stage : workload->stages()) {
    const auto& needs = workload->named(stage).needs;
    if (std::ranges::none_of(needs, [&](const Need& need) { return need.stage == outline.stage; })) continue;
    const RunFolder next{run.root.parent_path() / text(chain, "-", stage)};
    std::error_code unknown;
    if (fs::exists(next.lock(), unknown) && !next.is_run()) waiting.push_back(next);
  }
  return waiting;
}

bool is_of_run(const fs::path& within) {
  static const std::set<std::string> names{"config.yaml",  "hardware.json",
                                           "plan.json",    "environment.json",
                                           "index.json",   "quarantine.json",
                                           "from",         "kept",
                                           "events.jsonl", "log",
                                           "tb",           "pictures",
                                           "curves.png",   "report.html",
                                           "sync",         "wandb",
                                           ".lock",        ".generation",
                                           ".heartbeat",   "DONE",
                                           "FAILED"};
  const auto first = within.begin()->string();
  if (names.contains(first) || is_temporary_name(first)) return true;
  if (!first.starts_with("checkpoints")) return false;
  // Below it lie the folders of checkpoints and, in each, files that a save writes.
  const auto depth = std::distance(within.begin(), within.end());
  return depth < 3 || is_checkpoint_file(within.filename());
}

/// The one of them that was started last; each start writes its config anew.
const RunFolder* last_started(const std::vector<RunFolder>& runs) {
  const RunFolder* last = nullptr;
  fs::file_time_type when;
  for (const auto& run : runs) {
    std::error_code gone;
    const auto time = fs::last_write_time(run.config(), gone);
    if (gone || (last != nullptr && time <= when)) continue;
    last = &run;
    when = time;
  }
  return last;
}

void lead_latest_elsewhere(const RunFolder& folder, Storage& storage) {
  const auto link = folder.root.parent_path() / "latest";
  std::error_code absent;
  if (fs::read_symlink(link, absent) != folder.root.filename() || absent) return;
  auto others = runs_in(folder.root.parent_path());
  std::erase_if(others, [&](const auto& run) { return run.root == folder.root || !run.is_run(); });
  const auto* const last = last_started(others);
  if (last == nullptr) {
    remove_file(storage, link);
  } else {
    storage.replace_link(link, last->root.filename());
  }
}

}  // namespace

bool is_left_of_removal(const RunFolder& folder) {
  return folder.root.filename().string().starts_with(trash_prefix);
}

std::vector<RunFolder> runs_in(const fs::path& runs) {
  std::vector<RunFolder> found;
  std::error_code error;
  for (fs::directory_iterator item(runs, error), end; !error && item != end; item.increment(error)) {
    RunFolder folder{item->path()};
    if (!item->is_symlink(error) &&
        (folder.is_run() || (is_left_of_removal(folder) && item->is_directory(error))))
      found.push_back(std::move(folder));
  }
  std::ranges::sort(found, {}, &RunFolder::root);
  return found;
}

RunOutline outline_of(const RunFolder& folder) {
  const auto environment = environment_of(folder);
  std::error_code unknown;
  const bool has_failed = fs::exists(folder.root / "FAILED", unknown);
  RunOutline outline{.workload = environment.value("workload", ""),
                     .stage = environment.value("stage", ""),
                     .state = is_left_of_removal(folder) ? "removed in part"
                              : folder.is_done()         ? "done"
                              : has_failed               ? "failed"
                                                         : "unfinished"};
  for (const auto& entry : list_checkpoints(folder.checkpoints(), /*verify=*/false)) {
    if (entry.ok && !outline.step) outline.step = entry.step;
    if (entry.pinned) outline.pinned.push_back(entry.folder.filename().string());
  }
  return outline;
}

std::vector<RunFolder> who_needs(const RunFolder& folder, const std::vector<RunFolder>& others,
                                 const std::vector<Workload>& workloads) {
  auto needing = waiting_in_chain(folder, outline_of(folder), workloads);
  for (const auto& other : others) {
    if (other.root == folder.root || is_left_of_removal(other)) continue;
    const auto environment = environment_of(other);
    if (lacks_copy(other, environment, folder) || goes_on_from(other, environment, folder))
      needing.push_back(other);
  }
  return needing;
}

bool remove_run(const RunFolder& folder, Storage& storage) {
  if (is_left_of_removal(folder)) return remove_own(storage, folder.root, is_of_run);
  lead_latest_elsewhere(folder, storage);
  const auto runs = folder.root.parent_path();
  const auto trash = runs / text(trash_prefix, folder.root.filename().string());
  remove_own(storage, trash, is_of_run);  // of a run of that name
  // From here on no start finds half a run under its name.
  storage.rename(folder.root, trash);
  storage.sync_folder(runs);
  if (remove_own(storage, trash, is_of_run)) return true;
  storage.rename(trash, folder.root);
  return false;
}

}  // namespace larmor
