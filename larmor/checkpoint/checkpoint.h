// What survives. A checkpoint is a folder that appears whole or not at all: shards hashed while written,
// manifest last, one rename. Format: docs/checkpoint_format.md.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "larmor/base/files/storage.h"
#include "larmor/base/json.h"
#include "larmor/comm/communicator.h"
#include "larmor/device/state.h"
#include "larmor/device/tensors/tensor_file.h"

namespace larmor {

/// Everything of one moment that has to survive, on one rank. Tensors may be live: save() copies them.
struct Snapshot {
  int64_t step = 0;
  double epoch = 0;
  int64_t examples = 0;
  std::map<std::string, NamedTensors> files;  // this rank's: "model.safetensors", …
  std::map<std::string, Metadata> metadata;   // of those files
  Json state;                                 // rank 0: everything that is not a tensor
  std::optional<double> metric;               // of the validation at this step
};

/// One checkpoint on disk.
struct CheckpointEntry {
  std::filesystem::path folder;
  int64_t step = 0;
  double epoch = 0;
  int64_t examples = 0;
  int64_t world_size = 1;
  std::optional<double> metric;
  uint64_t bytes = 0;
  bool ok = true;      // after verify: every hash matches
  std::string reason;  // why not
  bool pinned = false;
  Json manifest;
  /// What is known after verify: what its files looked like before they were read, by device, inode, size and
  /// times; "" where one is no regular file.
  std::string look;
};

struct CheckpointOptions {
  int64_t keep_last = 2, keep_best = 1;
  bool lower_is_better = true;
  bool async = true;
  int64_t generation = 0;
  std::string config_sha256, index_sha256, build;
  bool bitwise = true;       // whether a resume from here gives the same bits
  int failures_allowed = 2;  // saves in a row that may fail for want of space; the next one ends the run
  std::optional<CheckpointEntry> resumed_from;  // that this process has verified, and need not read again
};

/// What became of a save, for the log and the tracker.
struct SaveOutcome {
  int64_t step = 0;  // this and the next two are the snapshot's
  double epoch = 0;
  int64_t examples = 0;
  bool committed = false;
  bool is_best = false;
  double seconds = 0;         // of the commit, beside training
  double staged_seconds = 0;  // that training waited
  std::string warning;        // why it failed
};

/// Hears of an outcome on the thread that has committed, while training goes on.
using TellOutcome = std::function<void(const SaveOutcome&)>;

/// Saves a run's checkpoints. One thread on each rank; one save in flight.
class CheckpointWriter {
 public:
  /// `tell` hears of each outcome when the commit has ended; what it throws counts as thrown by the save.
  /// Borrows storage. Takes a group of its own (communicator.duplicate_on_host()). Collective.
  CheckpointWriter(std::filesystem::path folder, Storage& storage, Communicator& communicator,
                   const CheckpointOptions& options, TellOutcome tell = {});
  /// Requires: finish(), or an exception on its way, whose cause the peers may share: then a save in flight
  /// is not waited for long, and its error is logged.
  ~CheckpointWriter();

  /// Copies the snapshot, then commits it beside training (or before returning, when not async or `last`).
  /// A failure for want of space warns and is forgiven twice in a row; the third, or that of the `last`
  /// save, throws Error (environment) on all ranks. A save that a fence stopped ends them with Error
  /// (rank_lost), by the next call at the latest. Collective.
  void save(const Snapshot& snapshot, bool last);
  /// Whether a save is in flight.
  bool is_saving() const;
  /// Whether one has been, and settle() or a later call has not taken its outcome.
  bool has_ended() const;
  /// Takes the outcome of a save that has ended on some rank, and throws what save() would. Collective.
  void settle();
  /// What has been committed or has failed, and was settled since the last call.
  std::vector<SaveOutcome> take_outcomes();
  /// Blocks until no save is in flight. Collective.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The folder of the checkpoint of that step, within the folder of all: "step-00001000".
std::string folder_name(int64_t step);
/// All checkpoints of a folder, newest first; none where there is no such folder. `verify` reads every byte;
/// without it `ok` says that the manifest is sealed and makes sense. Throws Error (environment) when the
/// folder cannot be read.
std::vector<CheckpointEntry> list_checkpoints(const std::filesystem::path& folder, bool verify);
/// One, which may be named by a link; `ok` as in a list without `verify`.
CheckpointEntry open_checkpoint(const std::filesystem::path& folder);
/// The same, with every byte read.
CheckpointEntry verify_checkpoint(const std::filesystem::path& folder);
/// The newest one whose hashes all match; what was passed over is in `passed_over`. Nothing when there are
/// none at all; throws Error (checkpoint) when there are some and none is good.
std::optional<CheckpointEntry> newest_good(const std::filesystem::path& folder,
                                           std::vector<CheckpointEntry>* passed_over);
/// The one with the best metric, of equal ones the earliest; null when none that is `ok` has one. Borrows.
const CheckpointEntry* best_of(const std::vector<CheckpointEntry>& entries, bool lower_is_better);

/// What is kept of a folder's checkpoints.
struct Retention {
  int64_t keep_last = 2, keep_best = 1;
  bool lower_is_better = true;
};

/// What became of the checkpoints that were not to be kept.
struct Pruned {
  std::vector<std::filesystem::path> removed;
  std::vector<CheckpointEntry> damaged;  // that were met: they count for nothing, and stay
};
/// Removes all but the newest `keep_last`, the best `keep_best` and the pinned ones of those that are whole,
/// which are read for that; where none is whole, nothing. Renews the links.
Pruned prune_checkpoints(const std::filesystem::path& folder, Storage& storage, const Retention& retention);
/// Whether no retention ever removes it, until it is unpinned; it needs no lock of the run. Throws Error:
/// checkpoint where the checkpoint has gone meanwhile, and environment.
void pin_checkpoint(const std::filesystem::path& checkpoint, bool pinned, Storage& storage);
/// Points `last` to the newest checkpoint and `best` to the best one, as their manifests say; removes a link
/// for which there is none.
void renew_links(const std::filesystem::path& folder, Storage& storage, bool lower_is_better);
/// Moves checkpoints, in the order given, from `folder` into `<folder>.before-<generation>` beside it, and
/// gives that folder. Nothing is removed.
std::filesystem::path set_aside(const std::vector<CheckpointEntry>& entries,
                                const std::filesystem::path& folder, int64_t generation, Storage& storage);

/// Reads a verified checkpoint's parts.
NamedTensors read_checkpoint_file(const CheckpointEntry& entry, const std::string& file);
bool has_checkpoint_file(const CheckpointEntry& entry, const std::string& file);
/// Whether a file of a checkpoint's folder, finished or not, is one of those that a save writes.
bool is_checkpoint_file(const std::filesystem::path& within);
/// The names of all files that the manifest lists, for whoever asks about many.
std::set<std::string> checkpoint_files(const CheckpointEntry& entry);
Json read_checkpoint_state(const CheckpointEntry& entry);

}  // namespace larmor
