// A run on disk: where each thing lies (docs/cli.md), and whether the run is over.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "larmor/base/clock.h"
#include "larmor/base/files/storage.h"
#include "larmor/checkpoint/checkpoint.h"

namespace larmor {

struct RunFolder {
  std::filesystem::path root;

  std::filesystem::path config() const { return root / "config.yaml"; }
  std::filesystem::path hardware() const { return root / "hardware.json"; }
  std::filesystem::path plan() const { return root / "plan.json"; }
  std::filesystem::path environment() const { return root / "environment.json"; }
  std::filesystem::path index() const { return root / "index.json"; }
  std::filesystem::path quarantine() const { return root / "quarantine.json"; }
  std::filesystem::path from() const { return root / "from"; }  // what it has kept of earlier stages
  std::filesystem::path events() const { return root / "events.jsonl"; }
  std::filesystem::path logs() const { return root / "log"; }
  std::filesystem::path tensorboard() const { return root / "tb"; }
  std::filesystem::path curves() const { return root / "curves.png"; }
  std::filesystem::path pictures() const { return root / "pictures"; }
  /// What `evaluate` leaves of a split: pictures, and the files below.
  std::filesystem::path evaluation(const std::string& split) const {
    return pictures() / ("evaluate-" + split);
  }
  std::filesystem::path figures(const std::string& split) const { return evaluation(split) / "figures.json"; }
  /// What comparisons need beside the figures (judge/paired_figures.h).
  std::filesystem::path draws(const std::string& split) const { return evaluation(split) / "draws.json"; }
  /// What has been sent to services (larmor/sync).
  std::filesystem::path sync() const { return root / "sync"; }
  std::filesystem::path checkpoints() const { return root / "checkpoints"; }
  std::filesystem::path lock() const { return root / ".lock"; }
  /// What keeps ranks of earlier generations from writing here (base/files/fenced_storage.h).
  std::filesystem::path generation_file() const { return root / ".generation"; }

  /// Whether it is one, as far as this user may look.
  bool is_run() const { return is_there(config()); }
  bool is_done() const { return is_there(root / "DONE"); }

 private:
  static bool is_there(const std::filesystem::path& path) {
    std::error_code unknown;
    return std::filesystem::exists(path, unknown);
  }
};

/// Throws Error (rank_lost) where a later start than that of generation `led` has taken the run over, which
/// may be where a network file system has lost a lock: the folder is the other's from then on.
void require_newest_start(const RunFolder& folder, int64_t led);

/// Writes DONE (status 0) or FAILED with its reason, and in FAILED the folder of the newest checkpoint;
/// removes the other. A step limit or a signal writes neither.
void mark_ended(Storage& storage, const Clock& clock, const RunFolder& folder, int status,
                const std::string& reason);
/// The newest of the checkpoints that have been committed, whether or not its rank has told of it; their
/// manifests say so, whose files are not read.
std::optional<CheckpointEntry> newest_committed(const RunFolder& folder);
/// Removes both: the run goes on.
void mark_going_on(Storage& storage, const RunFolder& folder);

/// "20260302-140509-latent_diffusion-autoencoder"; the stage may be "".
std::string new_run_name(const Clock& clock, const std::string& workload, const std::string& stage);
/// The same with the number of this process, of a run whose folder nobody makes yet: another call of the same
/// second has another one.
std::string planned_run_name(const Clock& clock, const std::string& workload, const std::string& stage);

/// A run by its folder or by its name under `runs`. Throws Error (usage) when there is none, with the nearest
/// of the runs there and of `others`: what else the words might have been meant to name, and what to say
/// then.
RunFolder find_run(const std::string& text, const std::filesystem::path& runs,
                   const std::map<std::string, std::string>& others = {});

}  // namespace larmor
