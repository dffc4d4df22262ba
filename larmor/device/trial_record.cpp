#include "larmor/device/trial_record.h"

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

#include <ATen/Version.h>
#include <torch/version.h>

#include "larmor/base/build_id.h"
#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/files/storage.h"
#include "larmor/base/files/user_cache.h"
#include "larmor/base/hash.h"
#include "larmor/base/text.h"
#include "larmor/base/version.h"

namespace larmor {
namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Model and instructions of the first CPU of Linux's table.
std::string cpu_words() {
  std::ifstream table("/proc/cpuinfo");
  std::string words;
  for (std::string line; std::getline(table, line) && !line.empty();) {
    for (const char* const field : {"vendor_id", "cpu family", "model\t", "model name", "stepping", "flags"})
      if (line.starts_with(field)) words += line + "; ";
  }
  return words;
}

std::atomic<TrialRecord*> of_process{nullptr};

}  // namespace

TrialRecord::TrialRecord(fs::path file, std::string machine)
    : file_(std::move(file)), machine_(std::move(machine)) {
  read();
}

/// A line of the machine, then lines of outcome and what was tried.
void TrialRecord::read() {
  std::ifstream file(file_);
  std::string line;
  if (!std::getline(file, line) || line != machine_) return;
  while (std::getline(file, line)) {
    const auto space = line.find(' ');
    if (space != std::string::npos) outcomes_.emplace(line.substr(space + 1), line.substr(0, space));
  }
}

void TrialRecord::write() {
  if (file_.empty()) return;
  read();
  std::ostringstream lines;
  lines << machine_ << '\n';
  for (const auto& [tried, outcome] : outcomes_) lines << outcome << ' ' << tried << '\n';
  try {
    DiskStorage disk;  // no operation of the run, and no place of a planted fault
    disk.create_folders(file_.parent_path());
    write_text(disk, file_, lines.str());
  } catch (const Error&) {  // the next start tries again
  }
}

std::optional<std::string> TrialRecord::outcome(const std::string& tried) {
  const std::lock_guard lock(mutex_);
  const auto found = outcomes_.find(tried);
  if (found == outcomes_.end()) return std::nullopt;
  if (std::exchange(has_new_, false)) write();
  return found->second;
}

void TrialRecord::keep(const std::string& tried, const std::string& outcome) {
  const std::lock_guard lock(mutex_);
  outcomes_[tried] = outcome;
  has_new_ = true;
}

std::string cpu_description() {
  return text(cpu_words(), "libtorch ", TORCH_VERSION, ", oneDNN up to ", variable("ONEDNN_MAX_CPU_ISA"),
              variable("DNNL_MAX_CPU_ISA"), ", libtorch's ", at::get_cpu_capability());
}

TrialRecord* trial_record() { return of_process.load(); }

void start_trial_record() {
  if (trial_record() != nullptr) return;
  // Another build may compute by other code under the same names, and takes the place of what this one found.
  const std::string machine = cpu_description();
  const std::string program = text(machine, ", larmor ", version(), ", build ", build_id());
  const fs::path folder = user_cache_folder();
  of_process = new TrialRecord(
      folder.empty() ? fs::path() : folder / "trials" / (sha256(machine).substr(0, 16) + ".txt"), program);
}

}  // namespace larmor
