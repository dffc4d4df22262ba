// The order: a temporary folder; every rank's shards, hashed while written and synced; the manifest, last;
// the folder synced; one rename; the parent synced. Only then is the checkpoint announced. A crash at any
// point leaves either the old state or the new one, and rubbish that has no manifest under a final name.
#include "larmor/checkpoint/commit.h"

#include <cmath>
#include <exception>
#include <string_view>
#include <utility>
#include <vector>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/files/removal.h"
#include "larmor/base/files/temporary_name.h"
#include "larmor/base/hash.h"
#include "larmor/base/log.h"
#include "larmor/base/text.h"
#include "larmor/checkpoint/manifest.h"
#include "larmor/checkpoint/retention.h"

namespace larmor {

namespace fs = std::filesystem;

namespace {

// Whether the run went on without us: no failure of a save, but the end of this rank.
bool is_fenced(const std::exception& failure) {
  const auto* error = dynamic_cast<const Error*>(&failure);
  return error != nullptr && error->exit() == Exit::rank_lost;
}

// Free space asked for beyond the bytes themselves: the log and the file system need some too.
constexpr double space_margin = 1.05;

// What ranks tell each other. A path in a message may be in no encoding that JSON knows.
std::string to_line(const Json& message) {
  return message.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// What a rank tells the others of a failure that ended its part of a save.
Json report_of(const std::exception& failure) {
  const auto* error = dynamic_cast<const Error*>(&failure);
  Json report;
  report["fenced"] = is_fenced(failure);
  report["error"] = error ? error->message() : failure.what();
  report["hint"] = error ? error->hint() : "";
  return report;
}

// The error that another rank told of, `where` before its message.
Error error_of(const Json& report, std::string_view where = {}) {
  const auto exit = report.at("fenced").get<bool>() ? Exit::rank_lost : Exit::environment;
  return {exit, text(where, report.at("error").get<std::string>()), report.at("hint").get<std::string>()};
}

// One line for the log: the message, and what to do in brackets.
std::string warning_of(const Json& report) {
  const auto hint = report.at("hint").get<std::string>();
  return text(report.at("error").get<std::string>(), hint.empty() ? "" : text(" (", hint, ")"));
}

uint64_t bytes_of(const Snapshot& snapshot) {
  uint64_t bytes = 0;
  for (const auto& [file, tensors] : snapshot.files) {
    for (const auto& [name, tensor] : tensors) bytes += tensor.nbytes();
  }
  return bytes;
}

// Runs work that a save can do without: whatever goes wrong in it is a warning that begins with `what`.
// Throws Error (rank_lost) when the run went on without us.
template <class Work>
void tidy(const std::string& what, const Work& work) {
  try {
    work();
  } catch (const std::exception& failure) {
    if (is_fenced(failure)) throw;
    log::warning(text(what, ": ", warning_of(report_of(failure))));
  }
}

// step-N.gen-G.tmp of a save, .trash-step-N of one that was to go.
bool is_left_by_a_save(const std::string& name) {
  constexpr std::string_view trash = ".trash-", unfinished = ".tmp", generation = ".gen-";
  if (name.starts_with(trash)) return step_of_name(name.substr(trash.size())).has_value();
  const auto mark = name.find(generation);
  if (!name.ends_with(unfinished) || mark == std::string::npos) return false;
  const auto number = std::string_view(name).substr(mark + generation.size());
  return step_of_name(name.substr(0, mark)) &&
         number.find_first_not_of("0123456789") == number.size() - unfinished.size();
}

// A link that was to take the place of last or best.
bool is_half_a_link(const fs::directory_entry& item) {
  const auto name = item.path().filename().string();
  return item.is_symlink() && is_temporary_name(name) &&
         (name.starts_with(".last.") || name.starts_with(".best."));
}

// Removes what starts of the run that were killed have left. No other process saves here: a run saves one
// checkpoint at a time.
void sweep(Storage& storage, const fs::path& folder) {
  tidy(text("cannot tidy up ", folder.string()), [&] {
    std::vector<fs::path> rubbish;
    for (const auto& item : fs::directory_iterator(folder)) {
      if (is_half_a_link(item) || is_left_by_a_save(item.path().filename().string()))
        rubbish.push_back(item.path());
    }
    // A process may have been killed between a rename to .trash and its sync. Without this sync a power cut
    // could bring the old name back over files that are gone.
    if (!rubbish.empty()) storage.sync_folder(folder);
    for (const auto& path : rubbish) {
      if (fs::is_symlink(path)) {
        remove_file(storage, path);
      } else {
        remove_own(storage, path, is_checkpoint_file);
      }
    }
  });
}

// Of all ranks: they write into one folder, and so onto one disk.
uint64_t bytes_of_all(Communicator& group, const Snapshot& snapshot) {
  uint64_t bytes = 0;
  for (const auto& own : all_gather_bytes(group, text(bytes_of(snapshot)))) bytes += std::stoull(own);
  return bytes;
}

// An earlier start's checkpoint of the step that is to be saved: of another line of the run, or damaged. It
// goes to where a rewind puts such.
void clear_place(const CommitPlace& place, const fs::path& final) {
  CheckpointEntry in_the_way;
  in_the_way.folder = final;
  const auto aside = set_aside({in_the_way}, place.folder, place.options.generation, place.storage);
  log::warning(text("a checkpoint of this step was there already: ", final.string(), " was moved to ",
                    aside.string()));
}

// Whether the one that is there was saved when a stop had cut the validation of its step, which this start
// has done first of all.
bool replaces(const Snapshot& snapshot, const fs::path& final) {
  return snapshot.metric && !read_entry(final).metric;
}

// What rank 0 tells the others before anything is written: null to go on, true when this start has saved the
// checkpoint already, or the report of what is in the way.
Json open_attempt(const Snapshot& snapshot, uint64_t bytes, const CommitPlace& place, const fs::path& attempt,
                  const fs::path& final) {
  try {
    auto& storage = place.storage;
    storage.create_folders(place.folder);
    sweep(storage, place.folder);
    if (fs::exists(final)) {
      const bool is_known = place.whole.knows(final);
      if (!is_known) {
        clear_place(place, final);
      } else if (!replaces(snapshot, final)) {
        // Whoever renamed it may have been killed before it was certain to stay.
        storage.sync_folder(place.folder);
        return true;
      }
    }
    remove_own(storage, attempt, is_checkpoint_file);
    const auto needed = static_cast<uint64_t>(static_cast<double>(bytes) * space_margin);
    if (const auto free = storage.free_bytes(place.folder); free < needed) {
      fail(Exit::environment,
           text(place.folder.string(), " has ", human_bytes(free),
                " free, quotas included, and this checkpoint needs ", human_bytes(needed)));
    }
    storage.create_folders(attempt);
    storage.point("checkpoint.begun");
    return nullptr;
  } catch (const std::exception& failure) {
    // The others wait for a word, whatever has happened.
    return report_of(failure);
  }
}

// This rank's shards as a JSON list, or the report of why it has none.
Json write_shards(const Snapshot& snapshot, const CommitPlace& place, const fs::path& attempt) {
  try {
    std::vector<ListedFile> files;
    for (const auto& [name, tensors] : snapshot.files) {
      const auto metadata = snapshot.metadata.find(name);
      const auto written = write_tensors(place.storage, attempt / name, tensors,
                                         metadata == snapshot.metadata.end() ? Metadata{} : metadata->second);
      files.push_back({name, written.bytes, written.sha256});
      place.storage.point("checkpoint.shard.written");
    }
    return to_json(files);
  } catch (const std::exception& failure) {
    return report_of(failure);
  }
}

ListedFile write_json_file(Storage& storage, const fs::path& path, const std::string& content) {
  const auto file = storage.create(path);
  file->write(content);
  file->sync();
  file->close();
  return {path.filename().string(), content.size(), sha256(content)};
}

Json manifest_of(const Snapshot& snapshot, const CommitPlace& place, const std::vector<ListedFile>& files) {
  auto earlier = list_checkpoints(place.folder, /*verify=*/false);
  std::erase_if(earlier, [&](const auto& entry) { return entry.step == snapshot.step; });  // is replaced
  Json manifest;
  manifest["format"] = checkpoint_format;
  manifest["step"] = snapshot.step;
  manifest["epoch"] = snapshot.epoch;
  manifest["examples"] = snapshot.examples;
  manifest["world_size"] = place.group.size();
  manifest["generation"] = place.options.generation;
  manifest["metric"] =
      snapshot.metric && std::isfinite(*snapshot.metric) ? Json(*snapshot.metric) : Json(nullptr);
  manifest["files"] = to_json(files);
  manifest["config_sha256"] = place.options.config_sha256;
  manifest["index_sha256"] = place.options.index_sha256;
  manifest["build"] = place.options.build;
  manifest["bitwise"] = place.options.bitwise;
  manifest["previous"] = earlier.empty() || !earlier.front().ok
                             ? Json(nullptr)
                             : Json(sha256_of_file(earlier.front().folder / manifest_name));
  return manifest;
}

// Steps that come after the rename: the checkpoint stands, so a failure here is only worth a warning. Gives
// whether it is the best one so far.
bool tidy_up(const Snapshot& snapshot, const CommitPlace& place, const fs::path& final) {
  auto& storage = place.storage;
  bool is_best = false;
  tidy(text("checkpoint ", final.string(), " is saved, but tidying up failed"), [&] {
    const Retention retention{.keep_last = place.options.keep_last,
                              .keep_best = place.options.keep_best,
                              .lower_is_better = place.options.lower_is_better};
    const auto sorted = sort_checkpoints(place.folder, retention, snapshot.step, place.whole);
    is_best = sorted.best && sorted.best->step == snapshot.step;
    link_kept(sorted, place.folder, storage, retention.lower_is_better);
    storage.point("checkpoint.linked");
    remove_checkpoints(sorted.surplus, place.folder, storage);
    for (const auto& entry : sorted.surplus) place.whole.forget(entry.folder);
    storage.point("checkpoint.pruned");
  });
  return is_best;
}

// The next save tries again where this fails.
void abandon(Storage& storage, const fs::path& attempt) {
  tidy(text("could not remove the unfinished checkpoint ", attempt.string()),
       [&] { remove_own(storage, attempt, is_checkpoint_file); });
}

// Rank 0 alone: from the shards' reports to the announced checkpoint. Throws Error (rank_lost) when the run
// went on without us.
SaveOutcome seal_attempt(const Snapshot& snapshot, const CommitPlace& place, const fs::path& attempt,
                         const fs::path& final, const std::vector<std::string>& reports) {
  SaveOutcome outcome;
  auto& storage = place.storage;
  try {
    std::vector<ListedFile> files;
    for (size_t rank = 0; rank < reports.size(); ++rank) {
      const auto report = parse_json(reports[rank], "a shard's report");
      if (report.is_object()) throw error_of(report, text("rank ", rank, ": "));
      Json wrapped;
      wrapped["files"] = report;
      for (auto& file : files_of(wrapped)) files.push_back(std::move(file));
    }
    files.push_back(write_json_file(storage, attempt / state_name, to_text(snapshot.state)));
    storage.point("checkpoint.state.written");
    const auto sealed = seal(manifest_of(snapshot, place, files));
    const auto manifest = parse_json(sealed, manifest_name);
    write_json_file(storage, attempt / manifest_name, sealed);
    storage.point("checkpoint.manifest.written");
    if (look_of(attempt, manifest).empty()) {
      fail(Exit::environment, text("not every rank's files have come to ", attempt.string()),
           "put run.folder on a file system that all hosts share");
    }
    storage.sync_folder(attempt);
    storage.point("checkpoint.folder.synced");
    const bool is_replaced = fs::exists(final);
    if (is_replaced) {
      if (read_entry(final).pinned) pin_checkpoint(attempt, /*pinned=*/true, storage);
      storage.exchange(attempt, final);
    } else {
      storage.rename(attempt, final);
    }
    storage.point("checkpoint.renamed");
    storage.sync_folder(place.folder);
    if (is_replaced) abandon(storage, attempt);  // which is the old one now
    place.whole.remember_written(final, manifest);
    outcome.committed = true;
    storage.point("checkpoint.committed");
  } catch (const std::exception& failure) {
    if (is_fenced(failure)) throw;
    outcome.committed = false;
    outcome.warning = warning_of(report_of(failure));
    return outcome;
  }
  outcome.is_best = tidy_up(snapshot, place, final);
  return outcome;
}

// Rank 0's outcome on every rank; `fenced` is null or the report of how rank 0 knows that the run went on
// without them.
SaveOutcome agree(const CommitPlace& place, SaveOutcome outcome, int64_t step, const Json& fenced) {
  Json message;
  message["fenced"] = fenced;
  message["committed"] = outcome.committed;
  message["is_best"] = outcome.is_best;
  message["warning"] = outcome.warning;
  const auto agreed = parse_json(broadcast_bytes(place.group, to_line(message), 0), "the outcome of a save");
  if (const auto& report = agreed.at("fenced"); !report.is_null()) throw error_of(report);
  outcome.step = step;
  outcome.committed = agreed.at("committed").get<bool>();
  outcome.is_best = agreed.at("is_best").get<bool>();
  outcome.warning = agreed.at("warning").get<std::string>();
  return outcome;
}

}  // namespace

SaveOutcome commit(const Snapshot& snapshot, const CommitPlace& place) {
  const auto final = place.folder / folder_name(snapshot.step);
  const auto attempt =
      place.folder / text(folder_name(snapshot.step), ".gen-", place.options.generation, ".tmp");
  const bool first = place.group.is_first();

  const auto bytes = bytes_of_all(place.group, snapshot);
  const auto said = first ? open_attempt(snapshot, bytes, place, attempt, final) : Json();
  const auto opened = parse_json(broadcast_bytes(place.group, to_line(said), 0), "the beginning of a save");
  SaveOutcome outcome;
  outcome.step = snapshot.step;
  if (opened.is_boolean()) {
    outcome.committed = true;
    return outcome;
  }
  if (opened.is_object()) {
    const auto error = error_of(opened);
    if (is_fenced(error)) throw error;
    outcome.warning = warning_of(opened);
    return outcome;
  }
  const auto reports = all_gather_bytes(place.group, to_line(write_shards(snapshot, place, attempt)));
  Json fenced;
  if (first) {
    try {
      outcome = seal_attempt(snapshot, place, attempt, final, reports);
      if (!outcome.committed) abandon(place.storage, attempt);
    } catch (const Error& error) {
      if (!is_fenced(error)) throw;
      fenced = report_of(error);
    }
  }
  return agree(place, outcome, snapshot.step, fenced);
}

}  // namespace larmor
