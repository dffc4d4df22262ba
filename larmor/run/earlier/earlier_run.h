// The trained stages that a later stage starts from or keeps: what a workload sees of runs before its own.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "larmor/device/tensors/tensor_file.h"
#include "larmor/run/earlier/earlier_source.h"
#include "larmor/run/loaded_stage.h"

namespace larmor {

/// A finished stage whose weights another stage starts from or keeps frozen.
struct EarlierRun {
  LoadedStage loaded;    // the stage as it was trained, with its config
  NamedTensors weights;  // of its predicting network
  NamedTensors task_tensors;
  Json task_values;
  bool averaged = false;  // the weights are the average
  std::string hash;       // of all of it: what `from.<stage>` shows in config.yaml

  /// A new task of that stage with these weights and its own state: on the CPU, in evaluation mode, and
  /// nothing in it learns. Networks are in float64 where the weights are: whoever computes with them places
  /// them first (place()), as a later stage's own networks are.
  std::unique_ptr<Task> task() const;
  /// Whether the run was one of fp64.
  bool is_in_doubles() const;
};

/// What is owned, as the class that it is. Throws std::bad_cast, and nothing is lost.
template <class Kind, class Base>
std::unique_ptr<Kind> cast_owned(std::unique_ptr<Base> owned) {
  Kind& kind = dynamic_cast<Kind&>(*owned);
  owned.release();
  return std::unique_ptr<Kind>(&kind);
}

/// Thread-safe.
class EarlierRuns {
 public:
  using Find = std::function<EarlierSources()>;
  /// `find` is called when something is first asked for, and again where it threw.
  EarlierRuns(Workload workload, std::vector<Need> needs, Find find);

  const std::vector<Need>& needs() const { return needs_; }
  /// All that is known, stages before the needed ones included. Throws Error as find_earlier(); usage where a
  /// need has no run.
  const EarlierSources& sources() const;
  /// A stage with the config of its run: for counting, and for what has to fit. Reads no weights. Throws
  /// Error as sources().
  LoadedStage stage(const std::string& name) const;
  /// Blocks. Throws Error as sources(), and checkpoint where a file is not what it was.
  EarlierRun read(const std::string& name) const;
  /// stage(name).stage as the class that it is.
  template <class Kind>
  std::unique_ptr<const Kind> stage_as(const std::string& name) const {
    return cast_owned<const Kind>(stage(name).stage);
  }
  /// read(name).task() as the class that it is.
  template <class Kind>
  std::unique_ptr<Kind> task_as(const std::string& name) const {
    return cast_owned<Kind>(read(name).task());
  }

 private:
  const EarlierSource& source(const std::string& name) const;

  Workload workload_;
  std::vector<Need> needs_;
  Find find_;
  mutable std::mutex mutex_;
  mutable std::optional<EarlierSources> found_;
};

/// The earlier runs, as a config names them in its section `from`; null where the stage needs none.
std::shared_ptr<const EarlierRuns> earlier_of_config(const Workload& workload, const RunConfig& config);
/// The earlier runs, as a run has kept them; null where its stage needs none.
std::shared_ptr<const EarlierRuns> earlier_of_run(const Workload& workload, const std::string& stage,
                                                  const RunFolder& folder);

/// Puts into `asked` the hash of each run that its section `from` names, so that what was asked for can be
/// held against what a run has. `recorded` is record_of_earlier() of a run's start, or empty: where a run
/// cannot be found any more, and the words are those of the start, it is the one that was kept. Throws Error
/// as EarlierRuns::sources().
void freeze_earlier(LoadedConfig& asked, const EarlierRuns& runs, const Json& recorded);
/// The record, by stage what `from` said, the hash, and where it was found. `asked` is not frozen yet.
Json record_of_earlier(const LoadedConfig& asked, const EarlierRuns& runs);

}  // namespace larmor
