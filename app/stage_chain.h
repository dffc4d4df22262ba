// `--stage all`: the stages of a workload one after the other, the words of a call being those of each in
// turn.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "larmor/base/files/file.h"
#include "larmor/run/run_folder.h"
#include "larmor/task/workload.h"

#include "app/program.h"
#include "app/stage_words.h"

namespace larmor::app {

/// Whether that is what the words ask for.
bool asks_for_every_stage(const VerbArguments& words);

/// The job that a chain of runs is of, where nobody has given it a name. A chain that the job has begun
/// before it was started again goes on by its name, which is made of the job and the words.
struct ChainJob {
  std::string id;            // "": of none
  bool again = false;        // the job was started again
  bool is_of_hosts = false;  // that start the chain together, and have to give it one name
};

/// A chain of stages. While it lives, the program's arguments are those of the stage that was begun last.
/// Throws Error (usage) for arguments that make no sense for several stages.
class StageChain {
 public:
  /// The runs of the stages. `made`: each is over before the next stage begins; `to_come`: all have their
  /// names already; `perhaps`: those that are over count, if run.name says which they are. What stages build
  /// on that no run has made yet is taken from the configs of the earlier stages, and has no weights.
  enum class Runs { made, to_come, perhaps };

  StageChain(Program& program, const Workload& workload, Runs runs, const ChainJob& job = {});
  ~StageChain();
  StageChain(const StageChain&) = delete;
  StageChain& operator=(const StageChain&) = delete;

  /// The first part of the names of runs; "auto" where there is none.
  const std::string& name() const { return name_; }
  /// Makes the program's words those of the stage, all stages before it having been begun. Gives the folder
  /// of its run; without a name of runs an empty one.
  RunFolder begin(const std::string& stage);
  /// Where to begin: at the last stage whose run is there and has kept what it needs of stages before it,
  /// whose runs may then be gone.
  std::string first_to_train() const;

 private:
  RunFolder run_of(const std::string& stage) const;
  void name_new(const ChainJob& job);
  bool has_kept(const std::string& stage) const;
  bool can_begin_at(const std::string& stage) const;
  void take_arguments_of(const std::string& stage);
  std::shared_ptr<const EarlierRuns> before(const std::string& stage) const;
  bool is_there(const std::string& stage) const;

  Program& program_;
  const Workload& workload_;
  const VerbArguments asked_;
  const StageWords words_;
  const Runs runs_;
  std::string name_;
  std::filesystem::path runs_folder_;
  std::vector<RunFolder> claimed_;                        // by a name that nobody has given
  std::map<std::string, std::filesystem::path> folders_;  // of the runs of stages that were begun
  std::map<std::string, std::filesystem::path> configs_;  // of the same stages
  const ScratchFolder scratch_;
};

/// Calls the action once for each stage, and shows what it shows as an object by stage. The exit status is
/// the first that is not 0. An Error of a stage, which is named in it, ends the call when the stages before
/// it have been shown.
int act_for_each_stage(Program& program, const Workload& workload, const Program::Action& action);
/// The same for the faults that it may find alone: nothing is shown.
void check_each_stage(Program& program, const Workload& workload, const Program::Action& action);

}  // namespace larmor::app
