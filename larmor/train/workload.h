// One system: its name and its stages, each of which is a run of its own. A workload is one folder; the build
// finds it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "larmor/train/stage.h"

namespace larmor {

/// Holds no config: that is the stage's.
class Workload {
 public:
  struct NamedStage {
    std::string name;
    std::function<std::unique_ptr<Stage>()> make;
  };

  /// `stages`, at least one, in the order in which they are trained.
  Workload(std::string name, std::vector<NamedStage> stages);

  const std::string& name() const { return name_; }
  /// Their names, in the order in which they are trained; the first is meant where none is named.
  std::vector<std::string> stages() const;
  /// A new one, with the defaults of its config. Throws Error (usage) with the names that there are.
  std::unique_ptr<Stage> stage(const std::string& name) const;

 private:
  std::string name_;
  std::vector<NamedStage> stages_;
};

/// Every workload of this build, by name. Generated from the folders of workloads/.
std::vector<Workload> make_workloads();

}  // namespace larmor
