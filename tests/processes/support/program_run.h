// The program as a person starts it: a process of its own, with what it printed and how it ended.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "larmor/base/files/file.h"
#include "larmor/base/json.h"
#include "larmor/base/process/process.h"

#include "tests/support/shared_data.h"

namespace larmor::testing {

struct ProgramOptions {
  std::filesystem::path folder = {};                    // to run in; empty = the test's own
  std::map<std::string, std::string> environment = {};  // on top of ours
  /// The program to start; empty = the larmor of this build.
  std::filesystem::path program = {};
  /// Where its stdout goes in place of Finished::out.
  std::optional<int> standard_out = {};
  /// What a shell does before it becomes the program: `ulimit -f 64`; or to its descriptors: `exec >&-`.
  std::string before = ":";
};

/// How a program ended. `status` is what a shell calls $?: 128 + the signal's number for a signal.
struct Finished {
  int status = 0;
  std::string out, err;

  Json json() const;               // stdout as one document
  std::string run_folder() const;  // of the last line "run: PATH"; "" without one
};

/// A program that runs, its output going to files. Killed and reaped by the destructor if it still runs.
class Running {
 public:
  explicit Running(std::vector<std::string> arguments, const ProgramOptions& options = {});

  pid_t id() const { return process_.id(); }
  void send(int signal) { process_.send(signal); }
  /// What it has printed so far.
  std::string out() const { return read_text(scratch_.path() / "out"); }
  std::string err() const { return read_text(scratch_.path() / "err"); }
  /// Blocks.
  Finished wait();
  /// Blocks for at most so long; whether it has ended.
  bool ends_within(double seconds);

 private:
  ScratchFolder scratch_;
  Process process_;
};

/// Starts the program and waits.
Finished larmor_program(std::vector<std::string> arguments, const ProgramOptions& options = {});

/// Asks again and again, for at most `seconds`. Whether it came true.
bool becomes_true(const std::function<bool()>& condition, double seconds);

/// The lines of a run's events.jsonl of that kind; "" for all. Lines that a kill has torn are left out.
std::vector<Json> events_of(const std::filesystem::path& run, const std::string& kind = "");

}  // namespace larmor::testing
