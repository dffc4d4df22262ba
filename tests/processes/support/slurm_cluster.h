// A real SLURM of two nodes on this machine, with its own keys and network, which ends with the test.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "larmor/base/files/file.h"
#include "larmor/base/process/process.h"

#include "tests/processes/support/program_run.h"

namespace larmor::testing {

class SlurmCluster {
 public:
  /// Why there can be none here; "" when there can.
  static std::string obstacle();
  /// Starts munged, slurmctld and two slurmd in process and network namespaces of their own, where nobody
  /// else hears of them and nothing of them is left, and waits until both nodes are idle. The nodes are
  /// called 10.78.0.1 and 10.78.0.2. Throws Error (environment), with the daemons' words, when they do not
  /// come.
  SlurmCluster();

  /// Starts one of SLURM's programs beside the daemons; it sees the cluster, and nothing else of the network.
  Running start(const std::string& program, const std::vector<std::string>& arguments,
                ProgramOptions options = {}) const;
  Finished call(const std::string& program, const std::vector<std::string>& arguments,
                const ProgramOptions& options = {}) const;
  /// The ids of the jobs that run or wait.
  std::string jobs() const;
  /// "RUNNING", "PENDING", "COMPLETED" …
  std::string state_of(const std::string& job) const;

 private:
  void write_settings() const;
  std::string words_of_daemons() const;

  ScratchFolder scratch_;
  std::optional<Process> daemons_;
};

}  // namespace larmor::testing
