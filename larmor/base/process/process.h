// Starting and ending other programs: re-execution, never a bare fork.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "larmor/base/process/descriptor.h"

namespace larmor {

struct ProcessOptions {
  std::filesystem::path program;
  std::vector<std::string> arguments;                            // without argv[0]
  std::map<std::string, std::string> environment;                // set on top of ours
  std::vector<std::string> unset;                                // removed from ours
  std::vector<int> cores;                                        // affinity; empty = inherit
  std::vector<int> keep_open;                                    // descriptors that survive exec
  std::optional<int> standard_in, standard_out, standard_error;  // descriptors to use as 0, 1 and 2
  // It and what it starts are a process group of their own, whose number is the child's. What is left of it
  // when the child has ended is killed.
  bool own_group = false;
  bool die_with_parent = true;  // SIGKILL when the starter's thread ends (PR_SET_PDEATHSIG)
};

/// How a process ended.
struct Ending {
  int status = 0;  // exit status, when signal == 0
  int signal = 0;
  bool ok() const { return status == 0 && signal == 0; }
  /// "exit status 3", "killed by SIGSEGV".
  std::string describe() const;
};

/// A child of ours. Not copyable; the destructor kills and reaps a child that still runs, with its group if
/// it has one. Signals are sent only while the child's number is its own: before it is reaped.
class Process {
 public:
  /// Throws Error (environment) when the program cannot be started.
  static Process start(const ProcessOptions& options);
  Process(Process&& other) noexcept;
  /// Ends the child that this one held.
  Process& operator=(Process&& other) noexcept;
  ~Process();

  pid_t id() const { return id_; }
  /// A descriptor that becomes readable when the child ends (pidfd).
  int wait_descriptor() const { return pidfd_.number(); }
  /// Nothing while it runs. Reaps.
  std::optional<Ending> poll();
  Ending wait();
  void send(int signal);
  /// It outlives this object and this process, and is nobody's to wait for. For the end of a program alone:
  /// until then it stays a zombie once it has ended.
  void leave() { id_ = -1; }

 private:
  Process() = default;
  void reap(int flags);
  void end();

  pid_t id_ = -1;
  Descriptor pidfd_;
  bool own_group_ = false;
  std::optional<Ending> ending_;
};

/// The file of the running program.
std::filesystem::path own_program();
std::string host_name();
/// "SIGKILL" for 9.
std::string signal_name(int signal);

}  // namespace larmor
