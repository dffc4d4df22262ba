#include "larmor/launch/job.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "larmor/base/error.h"
#include "larmor/base/process/descriptor.h"
#include "larmor/base/process/process.h"
#include "larmor/base/process/system_error.h"
#include "larmor/base/text.h"
#include "larmor/launch/environment.h"
#include "larmor/launch/hosts/slurm_step.h"

namespace larmor {
namespace {

bool is_digits(std::string_view word) {
  constexpr size_t longest = 18;  // fits int64
  return !word.empty() && word.size() <= longest &&
         word.find_first_not_of("0123456789") == std::string_view::npos;
}

const std::string* find_digits(const Environment& environment, std::string_view name) {
  const auto* value = find_variable(environment, name);
  return value && is_digits(*value) ? value : nullptr;
}

std::optional<int64_t> to_epoch_seconds(std::string_view word) {
  if (!is_digits(word)) return std::nullopt;
  int64_t seconds = 0;
  std::from_chars(word.data(), word.data() + word.size(), seconds);
  return seconds;
}

/// The program in the folders of PATH; empty when there is none. A relative folder is passed over: what lies
/// in the folder that we happen to stand in is not the scheduler's.
std::filesystem::path find_program(const Environment& environment, const std::string& name) {
  const auto* folders = find_variable(environment, "PATH");
  if (!folders) return {};
  for (const auto& folder : split(*folders, ':')) {
    const auto program = std::filesystem::path(folder) / name;
    if (program.is_absolute() && access(program.c_str(), X_OK) == 0) return program;
  }
  return {};
}

/// What a program prints, when it ends well in time, and no more than a pipe holds; otherwise empty.
std::string ask_program(ProcessOptions options, double patience_seconds) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return {};
  const Descriptor read_end(ends[0]);
  Descriptor write_end(ends[1]);
  const Descriptor nowhere(open("/dev/null", O_WRONLY | O_CLOEXEC));
  if (!nowhere.is_open()) return {};
  options.standard_out = write_end.number();
  options.standard_error = nowhere.number();
  auto process = Process::start(options);  // which kills what outlives it
  write_end.reset();
  pollfd ended{.fd = process.wait_descriptor(), .events = POLLIN, .revents = 0};
  if (after_signals([&] { return poll(&ended, 1, static_cast<int>(patience_seconds * 1000)); }) != 1)
    return {};
  const auto ending = process.poll();
  if (!ending || !ending->ok()) return {};
  std::string printed(size_t{64} * 1024, '\0');
  // A grandchild that holds the pipe open must not hold us up.
  if (fcntl(read_end.number(), F_SETFL, O_NONBLOCK) != 0) return {};
  const auto count = std::max<ssize_t>(
      0, after_signals([&] { return read(read_end.number(), printed.data(), printed.size()); }));
  printed.resize(static_cast<size_t>(count));
  return printed;
}

std::string ask_squeue(const Environment& environment, std::vector<std::string> arguments,
                       double patience_seconds) {
  ProcessOptions squeue;
  squeue.program = find_program(environment, "squeue");
  if (squeue.program.empty()) return {};
  squeue.arguments = std::move(arguments);
  squeue.environment = {{"SLURM_TIME_FORMAT", "%s"}};
  try {
    return ask_program(squeue, patience_seconds);
  } catch (const Error&) {  // it could not be started: as good as not there
    return {};
  }
}

std::optional<int64_t> find_end(const Environment& environment, const std::string& job,
                                double patience_seconds) {
  if (const auto* end = find_digits(environment, "SLURM_JOB_END_TIME")) return to_epoch_seconds(*end);
  const auto printed =
      ask_squeue(environment, {"--noheader", "--jobs=" + job, "--format=%e"}, patience_seconds);
  return to_epoch_seconds(trim(std::string_view(printed).substr(0, printed.find('\n'))));
}

std::string slurm_id(const Environment& environment, const std::string& job) {
  const auto *array = find_digits(environment, "SLURM_ARRAY_JOB_ID"),
             *task = find_digits(environment, "SLURM_ARRAY_TASK_ID");
  const auto* step = slurm_task_count(environment) ? find_digits(environment, "SLURM_STEP_ID") : nullptr;
  return text("slurm ", array && task ? text(*array, "_", *task) : job, step ? "." + *step : "");
}

/// "1234_7" of "slurm 1234_7.0"; "" of what is no job of SLURM.
std::string number_of_job(const std::string& id) {
  constexpr std::string_view launcher = "slurm ";
  if (!id.starts_with(launcher)) return {};
  const auto number = id.substr(launcher.size());
  return number.substr(0, number.find('.'));
}

}  // namespace

std::set<std::string> waiting_jobs(const std::set<std::string>& ids, const Environment& environment,
                                   double patience_seconds) {
  std::vector<std::string> numbers;
  for (const auto& id : ids) {
    if (auto number = number_of_job(id); !number.empty()) numbers.push_back(std::move(number));
  }
  if (numbers.empty()) return {};
  const auto printed =
      ask_squeue(environment,
                 {"--noheader", "--array", "--states=PENDING", "--jobs=" + join(numbers, ","), "--format=%i"},
                 patience_seconds);
  std::set<std::string> waiting;
  for (const auto& line : split(printed, '\n')) {
    for (const auto& id : ids) {
      if (const std::string number(trim(line)); !number.empty() && number == number_of_job(id))
        waiting.insert(id);
    }
  }
  return waiting;
}

Job find_job(const Environment& environment, double patience_seconds) {
  Job job;
  job.restarts = read_number_or(environment, "TORCHELASTIC_RESTART_COUNT", 0);
  if (const auto* slurm_job = find_digits(environment, "SLURM_JOB_ID")) {
    job.id = slurm_id(environment, *slurm_job);
    job.restarts += read_number_or(environment, "SLURM_RESTART_COUNT", 0);
    job.ends_at = find_end(environment, *slurm_job, patience_seconds);
    return job;
  }
  if (const auto* run = find_variable(environment, "TORCHELASTIC_RUN_ID")) {
    const auto *address = find_variable(environment, "MASTER_ADDR"),
               *port = find_variable(environment, "MASTER_PORT");
    job.id = text("torchrun ", *run, " ", address ? *address : "", ":", port ? *port : "");
  }
  return job;
}

std::optional<NodePlace> find_nodes(const Environment& environment) {
  const auto tasks = slurm_task_count(environment);
  if (!tasks) return std::nullopt;
  const auto step = read_slurm_step(environment);
  const auto fullest = *std::max_element(step.tasks_per_node.begin(), step.tasks_per_node.end());
  if (fullest > 1) {
    fail(Exit::usage,
         text("srun started ", fullest, " tasks on a node (SLURM_STEP_TASKS_PER_NODE=",
              *find_variable(environment, "SLURM_STEP_TASKS_PER_NODE"),
              "), and each would start ranks of its own"),
         "srun --ntasks-per-node=1 with --nnodes auto, or several tasks a node without it");
  }
  const auto master = find_master(environment, step);
  return NodePlace{.nodes = static_cast<int64_t>(step.hosts.size()),
                   .node = step.node,
                   .master_address = master.host,
                   .master_port = master.port};
}

}  // namespace larmor
