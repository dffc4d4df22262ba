// One stage of a workload: its own part of the config, its demand, its data and its task. With Task, all that
// a newcomer writes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "larmor/base/json.h"
#include "larmor/base/work_progress.h"
#include "larmor/config/run_config.h"
#include "larmor/data/dataset.h"
#include "larmor/data/index/index.h"
#include "larmor/data/loader/order.h"
#include "larmor/plan/plan.h"
#include "larmor/task/objective_groups.h"
#include "larmor/task/prediction.h"
#include "larmor/task/prepare_context.h"
#include "larmor/task/task.h"

namespace larmor {

class EarlierRuns;

/// Thread-safe. Once its config is loaded (load_stage) a stage is const, and ranks that are threads share it:
/// the const functions change nothing in it, and what they give keeps copies of what it needs of the stage.
class Stage {
 public:
  virtual ~Stage() = default;

  /// Its own config fields. Their values live in the stage, and in a new one are the defaults: load_config()
  /// writes them, the functions below read them. Borrows the stage. May be asked for again: resets nothing.
  virtual WorkloadFields fields() = 0;
  /// Refuses combinations that cannot work (Error, usage), after the config has been read.
  virtual void check(const RunConfig& config) const = 0;
  /// The cases of a config: by default what make_index() finds.
  virtual Index index(const RunConfig& config) const {
    return make_index(config.data, static_cast<uint64_t>(config.run.seed));
  }
  /// index() for a person who waits for it, which shows how far it is where it takes long.
  virtual Index index_shown(const RunConfig& config, const ShowsProgress& /*shows*/) const {
    return index(config);
  }
  /// All cases that the config's data hold now, for what goes by a run's own splits: each in some split, and
  /// nothing is asked of those.
  virtual Index found(const RunConfig& config) const {
    return make_index(without_splits(config.data), static_cast<uint64_t>(config.run.seed));
  }
  /// Whether the config asks for data that the program makes, so that none have to be named.
  virtual bool invents_data(const RunConfig& config) const { return config.data.kind == "phantom"; }
  /// The groups in which its networks' parameters learn, by objective_groups() of a task of shapes alone;
  /// none where its objectives have no rules. Asked before any data are named.
  virtual std::vector<ObjectiveGroup> groups(const RunConfig& /*config*/) const { return {}; }
  /// The demand, for the planner; from counts alone.
  virtual Demand demand(const RunConfig& config, const Index& index) const = 0;
  virtual std::unique_ptr<Dataset> dataset(const RunConfig& config, const Index& index,
                                           Split split) const = 0;
  /// What `larmor prepare` makes before any run: by default every case of dataset() in the prepared cache,
  /// or, where none can be prepared, a look at every byte of every file. Throws Error.
  virtual void prepare(const RunConfig& config, const Index& index, PrepareContext& context) const;
  /// Sentences for the person who starts a run: what its config asks for and does not get.
  virtual std::vector<std::string> remarks(const RunConfig& /*config*/) const { return {}; }
  /// Refuses what a new run cannot begin with, before any rank starts (Error): its first example, weights
  /// that the network cannot take, earlier() runs that do not fit.
  virtual void check_start(const Sample& /*first*/) const {}
  /// Refuses an example that the task cannot take, be it for its size or its channels (Error, data): it is
  /// then passed over as one that cannot be read is. Asked of every example, on the threads that read them.
  virtual void check_example(const Sample& /*example*/, Split) const {}
  /// Training cases as validation sees them, for figures that hold a split against the training set (a
  /// baseline hazard, say); null where no figure of that depth does. The task is told by
  /// Metrics::of_reference().
  virtual std::unique_ptr<Dataset> reference(const RunConfig& /*config*/, const Index& /*index*/,
                                             ValidationDepth /*depth*/) const {
    return nullptr;
  }
  /// What the data say of each example of dataset(), beside its name and its patient: the question that it
  /// is, say. For tables of cases, and to part them by.
  virtual CaseColumns facts(const RunConfig& /*config*/, const Index& /*index*/, Split) const { return {}; }
  /// The order in which training sees the examples of `dataset`.
  virtual ExampleOrder order(const RunConfig& config, const Index& /*index*/, const Dataset& dataset) const {
    return make_order(config.data, static_cast<uint64_t>(config.run.seed), dataset);
  }
  /// Networks are initialised from the run's seed alone, on CPU, then moved by the session. `index` is empty
  /// where there is no run, only weights from a file.
  virtual std::unique_ptr<Task> task(const RunConfig& config, const Index& index) const = 0;
  /// What its task is made of beside config and weights, by names of files: a vocabulary, lists of names,
  /// counts of the training set. A run that starts keeps it, and reads it from there ever after.
  virtual std::map<std::string, std::string> keeps(const RunConfig& /*config*/, const Index&) const {
    return {};
  }
  /// Which inputs `predict` takes, what it does to them before the network sees them, and what comes out.
  virtual PredictionForm prediction(const RunConfig& config) const = 0;
  /// Whether `predict`, `evaluate` and `export` take the averaged weights of a run that keeps them, when
  /// nobody says which.
  virtual bool predicts_by_average() const { return false; }

  /// The runs of the stages that this one needs (run/earlier/earlier_run.h), the same in training, resuming,
  /// evaluating and predicting; null for a stage that needs none. A task may keep it.
  const std::shared_ptr<const EarlierRuns>& earlier() const { return earlier_; }
  /// What its run has kept of keeps(), by those names; empty where there is no run yet.
  const std::map<std::string, std::filesystem::path>& kept_files() const { return kept_files_; }
  /// Called for who loads the stage of a run.
  void read_from(std::map<std::string, std::filesystem::path> kept) { kept_files_ = std::move(kept); }
  /// Called for load_stage() and load_run_stage().
  void build_on(std::shared_ptr<const EarlierRuns> earlier) { earlier_ = std::move(earlier); }

 private:
  std::shared_ptr<const EarlierRuns> earlier_;
  std::map<std::string, std::filesystem::path> kept_files_;
};

}  // namespace larmor
