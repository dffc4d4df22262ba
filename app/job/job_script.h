// Job files as text: an sbatch file, and a shell script for machines without a scheduler.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace larmor::app {

struct JobRequest {
  std::string program;             // its absolute path
  std::string folder;              // to run in
  std::vector<std::string> runs;   // names, in the order in which they are trained
  std::vector<std::string> train;  // the words of `train`, which say what the runs are called
  std::string runs_folder;         // the folder above them, absolute
  int64_t nodes = 1, max_restarts = 3;
  // sbatch only; 0 and empty: the file does not ask for it.
  int64_t gpus_per_node = 0, cpus_per_task = 0;
  std::string time, partition, account;
  int64_t signal_before_seconds = 300;
  // Shell only.
  std::string master;
  int64_t port = 0;
};

/// Both make, at each start, the key by which the nodes know one another (net/key_file.h): its file is
/// named in LARMOR_RUN_KEY_FILE, lies below `runs`, and only its owner can read it. Throws Error (usage) for
/// what does not fit a line of #SBATCH, or a signal that comes after the limit.
std::string slurm_script(const JobRequest& request);
/// Throws Error (usage) where the master is no name of a host.
std::string shell_script(const JobRequest& request);

/// Throws Error (usage): a line that ends within a comment would go on as a command, and on stdout a file is
/// shown as it is.
void refuse_control_letters(const JobRequest& request);

/// One word of a shell, whatever it holds.
std::string shell_word(const std::string& word);

/// Seconds of "90" (minutes), "30:00", "12:00:00", "2-12", "2-12:30", "2-12:30:00", as sbatch reads them.
/// Throws Error (usage) for anything else, and for no time at all.
int64_t parse_time_limit(const std::string& time);

}  // namespace larmor::app
