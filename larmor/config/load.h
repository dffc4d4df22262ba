// From files, environment and command line to a RunConfig: precedence, origins, and errors that name the
// key, the place and the nearest name.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "larmor/config/run_config.h"

namespace larmor {

/// Where the values come from, least trusted last.
struct Sources {
  std::vector<std::filesystem::path>
      files;  // default.yaml first, then each -c in order; YAML, JSON with comments, or DeepSpeed's JSON
  size_t shipped = 1;  // so many of the files are no person's: the defaults, or what a run has saved
  std::map<std::string, std::string> environment;  // LARMOR_<SECTION>__<KEY>=value, other names are ignored
  std::vector<std::string> overrides;              // key=value from the command line
  /// A section of a file that is called after one of these is for that stage alone, and goes before what the
  /// same file says for all.
  std::vector<std::string> stages = {};
  bool is_draft = false;  // to be shown: a value that a person has yet to give is no fault
  /// Where the file or folder is that a key names; origins keep what was said. Nothing: where it was said.
  std::function<std::string(const std::string& key, const std::string& said)> find_path = {};
};

/// A resolved value and where it came from.
struct Origin {
  std::string key;    // "train.global_batch"
  std::string value;  // as YAML flow text
  // "built-in", "default.yaml:12", "environment LARMOR_TRAIN__LENGTH", "command line", "plan"; or "optim" for
  // a value that an objective's section takes over from there.
  std::string origin;
  std::string overrode;  // the next origin below it with another value, or ""
  std::string help;

  bool is_inherited() const { return origin == "optim"; }
};

/// A key with its value in one config and in another; "" where one does not have it.
struct KeyDifference {
  std::string key, ours, theirs;
};

class LoadedConfig {
 public:
  RunConfig config;
  std::vector<Origin> origins;  // one per leaf, in listing order
  /// What a person should hear of a source in other words than ours: one sentence a key, with its place.
  std::vector<std::string> notes;

  /// What keys that name a file or folder name: as it was said, and where it is, absolute.
  struct NamedPath {
    std::string said, is;
  };
  std::map<std::string, NamedPath> paths;

  /// The whole config as YAML, which load_config reads back to the same config; inherited values are left
  /// out. When asked, each value has its origin as a comment, and the first line says so: load_config takes
  /// the origins of such a file, "plan" among them, from its comments.
  std::string to_yaml(bool with_origins) const;
  /// SHA-256 of the resolved values that define a run. Left out: run.folder, run.name; and how its work is
  /// shared, held in memory and watched: parallel.ranks, .device, .threads, .strategy, .offload, .hang_limit,
  /// train.activation_checkpointing, train.stop_before, plan.probe.
  std::string sha256() const;
  /// Whether its value counts in sha256().
  static bool defines_the_run(const std::string& key);
  /// Whether another value leaves as it is what a run has learned: where its data lie, how long it trains,
  /// when it validates and saves, what it bears, shows and loads with.
  static bool may_change(const std::string& key);
  /// Those of keys that count in sha256(); `auto` equals anything it was frozen to.
  std::vector<KeyDifference> differences(const LoadedConfig& other) const;
  /// Their keys.
  std::vector<std::string> differing_keys(const LoadedConfig& other) const;
  /// Replaces a value that stands as `auto` by what the plan chose ("plan" becomes its origin); another value
  /// stays. Throws Error (unexpected) for a key or a value that the config does not know.
  void freeze(const std::string& key, const std::string& value);
  /// Replaces the run that `from.<stage>` names by the hash of what was found there. Its origin keeps the
  /// name.
  void freeze_from(const std::string& stage, const std::string& hash);
  /// Takes over from `other` how the work is shared and held in memory, origins included.
  void work_as(const LoadedConfig& other);
};

/// Reads all sources into one config. `workload` has to outlive the call only; its model and loss fields
/// are filled in. Throws Error (usage) listing every problem found, not only the first: a line each with the
/// place, the key, what is wrong, and the nearest name.
LoadedConfig load_config(const Sources& sources, const std::string& workload, const std::string& stage,
                         const WorkloadFields& fields);

/// JSON Schema (draft 2020-12) of everything load_config accepts.
Json config_schema(const WorkloadFields& fields);

/// Throws Error (usage) where the variables of another launcher ask for what the config of a run that goes on
/// does not say: `accelerate launch --mixed_precision bf16`.
void refuse_other_launch(const LoadedConfig& loaded, const std::map<std::string, std::string>& environment);

/// What to say of a key that the config does not have: "did you mean train.length?", what replaces the name
/// of another program, or "".
std::string hint_for_key(const std::string& key, const WorkloadFields& fields);

/// The key to use instead of a flag of the guides ("--batch_size"), or "" when the flag is not known. `own`
/// answers first.
std::string hint_for_foreign_flag(std::string_view flag, const ForeignFlags& own = {});

}  // namespace larmor
