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

/// What the guide of a workload has its users type and bring.
struct WorkloadGuide {
  ForeignFlags flags = {};                // of its scripts and of its reference, with what is said to each
  GuideFiles files = {};                  // that its scripts take
  std::vector<std::string> scripts = {};  // their names
  bool batch_is_of_all = false;           // their --batch_size counts the examples of all ranks together
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
  /// `stages`, at least one, in the order in which they are trained.
  Workload(std::string name, std::vector<NamedStage> stages, WorkloadGuide guide = {});

  const std::string& name() const { return name_; }
  /// Their names, in the order in which they are trained; the first is meant where none is named.
  std::vector<std::string> stages() const;
  /// Throws Error (usage) with the names that there are.
  const NamedStage& named(const std::string& stage) const;
  /// A new one, with the defaults of its config. Throws Error as named().
  std::unique_ptr<Stage> stage(const std::string& name) const;
  const WorkloadGuide& guide() const { return guide_; }

 private:
  std::string name_;
  std::vector<NamedStage> stages_;
  WorkloadGuide guide_;
};

/// Every workload of this build, by name. Generated from the folders of workloads/.
std::vector<Workload> make_workloads();

}  // namespace larmor
