// What was found out by trying it on this CPU, kept for later starts of the program (docs/decisions/0075).
#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace larmor {

/// Outcomes by what was tried. Thread-safe.
class TrialRecord {
 public:
  /// Reads `file`, which begins with a line like `machine`, or is another machine's and is not read. An empty
  /// path: nothing is read and nothing kept.
  TrialRecord(std::filesystem::path file, std::string machine);

  /// Once what is new has been asked for again, the file is written whole, beside what others have put into
  /// it meanwhile; a folder that cannot be written to is no error.
  std::optional<std::string> outcome(const std::string& tried);
  void keep(const std::string& tried, const std::string& outcome);

 private:
  void read();
  void write();

  const std::filesystem::path file_;
  const std::string machine_;
  std::mutex mutex_;
  std::map<std::string, std::string> outcomes_;
  bool has_new_ = false;
};

/// The record of this process, in the user's cache folder, for the CPU's model and instructions, what
/// ONEDNN_MAX_CPU_ISA allows of them, libtorch and this build of the program; null before
/// start_trial_record().
TrialRecord* trial_record();

/// Once per process, before there are threads; later calls do nothing.
void start_trial_record();

/// The CPU's model and instructions, what variables take away of them, and libtorch.
std::string cpu_description();

}  // namespace larmor
