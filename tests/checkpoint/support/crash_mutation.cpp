#include "tests/checkpoint/support/crash_mutation.h"

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <string_view>

#include "larmor/base/text.h"

namespace larmor::testing {

namespace {

using Kind = Recorded::Kind;

constexpr std::string_view attempt = "run/checkpoints/step-00000005.gen-0.tmp";
constexpr std::string_view final_name = "run/checkpoints/step-00000005";
constexpr std::string_view checkpoints = "run/checkpoints";

std::string in_attempt(std::string_view file) { return text(attempt, '/', file); }

// The last operation of that kind on that path (which may be empty: any), in front of `end`.
size_t last(const Recording& recording, Kind kind, std::string_view path, size_t end = SIZE_MAX) {
  for (size_t i = std::min(end, recording.size()); i-- > 0;) {
    if (recording[i].kind == kind && (path.empty() || recording[i].path == path)) return i;
  }
  throw std::logic_error("no such operation on " + std::string(path));
}

void drop(Recording& recording, size_t operation) {
  recording.erase(recording.begin() + static_cast<std::ptrdiff_t>(operation));
}

// Takes an operation to an earlier place.
void move_before(Recording& recording, size_t operation, size_t place) {
  const auto begin = recording.begin();
  std::rotate(begin + static_cast<std::ptrdiff_t>(place), begin + static_cast<std::ptrdiff_t>(operation),
              begin + static_cast<std::ptrdiff_t>(operation) + 1);
}

size_t commit_rename(const Recording& recording) { return last(recording, Kind::rename, attempt); }
// The sync of the parent after the rename.
size_t commit_sync(const Recording& recording) {
  for (size_t i = commit_rename(recording); i < recording.size(); ++i) {
    if (recording[i].kind == Kind::sync_folder && recording[i].path == checkpoints) return i;
  }
  throw std::logic_error("the parent is not synced");
}
// Of the newest checkpoint.
size_t first_announcement(const Recording& recording) {
  const auto newest = std::max_element(recording.begin(), recording.end(),
                                       [](const auto& a, const auto& b) { return a.step < b.step; });
  return static_cast<size_t>(newest - recording.begin());
}

// The rename of the attempt in front of that operation; what comes later uses the final name.
void rename_before(Recording& recording, size_t place) {
  move_before(recording, commit_rename(recording), place);
  for (size_t i = place + 1; i < recording.size(); ++i) {
    auto& path = recording[i].path;
    if (path.starts_with(attempt)) path = text(final_name, path.substr(attempt.size()));
  }
}

bool is_pruning(const Recorded& operation) {
  return operation.path.find(".trash-") != std::string::npos ||
         operation.target.find(".trash-") != std::string::npos;
}

// Renames to the trash and removals stand in front of the rename that commits.
void prune_before_the_commit(Recording& recording) {
  size_t place = commit_rename(recording);
  for (size_t i = place + 1; i < recording.size(); ++i) {
    if (is_pruning(recording[i])) move_before(recording, i, place++);
  }
}

void prune_without_a_trash(Recording& recording) {
  const size_t rename = last(recording, Kind::rename, "run/checkpoints/step-00000004");
  const std::string trash = recording[rename].target;
  for (auto& operation : recording) {
    if (operation.kind == Kind::remove_all && operation.path.starts_with(trash))
      operation.path = text(recording[rename].path, operation.path.substr(trash.size()));
  }
  drop(recording, rename);
}

void prune_without_a_sync(Recording& recording) {
  const size_t removal = last(recording, Kind::remove_all, "run/checkpoints/.trash-step-00000004");
  const size_t sync = last(recording, Kind::sync_folder, checkpoints, removal);
  if (sync < last(recording, Kind::rename, "run/checkpoints/step-00000004"))
    throw std::logic_error("there is no such sync");
  drop(recording, sync);
}

}  // namespace

std::vector<CrashMutation> crash_mutations() {
  const auto one = saves_of_one_rank(), two = saves_of_two_ranks(), keeping_one = saves_keeping_one();
  std::vector<CrashMutation> mutations;
  const auto add = [&](std::string name, const Scenario& from, Loss expected,
                       const std::function<void(Recording&)>& change) {
    CrashMutation mutation{.name = std::move(name), .scenario = from, .expected = expected};
    auto& recording = mutation.scenario.recording;
    change(recording);
    // From the announcement on, or from the rename on.
    mutation.first =
        (expected == Loss::commit ? first_announcement(recording) : commit_rename(recording)) + 1;
    mutations.push_back(std::move(mutation));
  };
  for (const char* file : {"model.safetensors", "optimizer-1.safetensors", "state.json", "manifest.json"}) {
    add(std::string("no sync of ") + file, two, Loss::commit,
        [&](Recording& recording) { drop(recording, last(recording, Kind::sync, in_attempt(file))); });
  }
  add("a sync in front of the last write", two, Loss::commit, [](Recording& recording) {
    const auto file = in_attempt("optimizer-1.safetensors");
    move_before(recording, last(recording, Kind::sync, file), last(recording, Kind::write, file));
  });
  add("the last write is missing", one, Loss::commit, [](Recording& recording) {
    drop(recording, last(recording, Kind::write, in_attempt("model.safetensors")));
  });
  add("no sync of the attempt's folder", one, Loss::commit,
      [](Recording& recording) { drop(recording, last(recording, Kind::sync_folder, attempt)); });
  add("no sync of the parent", one, Loss::commit,
      [](Recording& recording) { drop(recording, commit_sync(recording)); });
  add("announced in front of the parent's sync", one, Loss::commit, [](Recording& recording) {
    move_before(recording, first_announcement(recording), commit_sync(recording));
  });
  add("announced in front of the rename", one, Loss::commit, [](Recording& recording) {
    move_before(recording, first_announcement(recording), commit_rename(recording));
  });
  add("older ones are removed in front of the commit", keeping_one, Loss::commit, prune_before_the_commit);
  mutations.back().first = commit_rename(keeping_one.recording);
  add("renamed in front of the manifest", one, Loss::name, [](Recording& recording) {
    rename_before(recording, last(recording, Kind::create, in_attempt("manifest.json")));
  });
  add("renamed in front of the folder's sync", one, Loss::name,
      [](Recording& recording) { rename_before(recording, last(recording, Kind::sync_folder, attempt)); });
  add("removed without a trash", keeping_one, Loss::name, prune_without_a_trash);
  add("removed without a sync after the rename to the trash", keeping_one, Loss::name, prune_without_a_sync);
  add("a new folder's parent is not synced", first_saves(), Loss::commit,
      [](Recording& recording) { drop(recording, last(recording, Kind::sync_folder, ".")); });
  return mutations;
}

}  // namespace larmor::testing
