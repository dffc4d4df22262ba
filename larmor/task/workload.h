// One system: its name and its stages, each of which is a run of its own. A workload is one folder; the build
// finds it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "larmor/task/stage.h"

namespace larmor {

/// A stage that has to be trained before another one is.
struct Need {
  enum class Use {
    keeps,        // its network takes part, and is asked for as long as the later run is used
    starts_from,  // its weights are where Task::start() begins: nobody asks for them afterwards
  };
  std::string stage;
  Use use = Use::keeps;
};

/// Holds no config: that is the stage's.
class Workload {
 public:
  struct NamedStage {
    std::string name;
    std::function<std::unique_ptr<Stage>()> make;
    std::vector<Need> needs = {};  // of stages that stand before it
    std::string purpose = {};      // what it learns, for a person who chooses
    std::string data = {};         // of which kind it takes them
  };
  /// `stages`, at least one, in the order in which they are trained. `foreign_flags`: of the workload's guide
  /// and its reference; `guide_files`: the files that their scripts take.
  Workload(std::string name, std::vector<NamedStage> stages, ForeignFlags foreign_flags = {},
           GuideFiles guide_files = {});

  const std::string& name() const { return name_; }
  /// Their names, in the order in which they are trained; the first is meant where none is named.
  std::vector<std::string> stages() const;
  /// Throws Error (usage) with the names that there are.
  const NamedStage& named(const std::string& stage) const;
  /// A new one, with the defaults of its config. Throws Error as named().
  std::unique_ptr<Stage> stage(const std::string& name) const;
  const ForeignFlags& foreign_flags() const { return foreign_flags_; }
  const GuideFiles& guide_files() const { return guide_files_; }

 private:
  std::string name_;
  std::vector<NamedStage> stages_;
  ForeignFlags foreign_flags_;
  GuideFiles guide_files_;
};

/// Every workload of this build, by name. Generated from the folders of workloads/.
std::vector<Workload> make_workloads();

}  // namespace larmor
