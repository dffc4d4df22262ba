// Two hosts on one machine: network namespaces joined by a pair of virtual interfaces, each with a name of
// its own.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "larmor/base/files/file.h"
#include "larmor/base/process/process.h"

#include "tests/processes/support/program_run.h"

namespace larmor::testing {

class NetworkHosts {
 public:
  /// Why there can be none here; "" when there can.
  static std::string obstacle();
  /// They are gone when this is, or the test, however it ends. Throws Error (environment) when they cannot be
  /// made.
  NetworkHosts();

  static constexpr std::array<const char*, 2> addresses{"10.77.0.1", "10.77.0.2"};
  /// Starts a program on one of them. Only the network and the host's name are its own, not files and
  /// processes.
  Running start(int host, const std::vector<std::string>& command, const ProgramOptions& options = {}) const;
  /// Cuts the link between them.
  void disconnect() const;

 private:
  std::vector<std::string> enter(int host) const;

  ScratchFolder scratch_;
  std::vector<Process> keepers_;  // one a host: a namespace lives as long as a process in it
};

}  // namespace larmor::testing
