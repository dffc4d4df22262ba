#include "app/train_rank.h"

#include <optional>
#include <string>

#include <unistd.h>

#include "larmor/base/error.h"
#include "larmor/base/log.h"
#include "larmor/base/text.h"
#include "larmor/comm/communicator.h"
#include "larmor/launch/stack_dump.h"
#include "larmor/launch/stop_signal.h"
#include "larmor/train/run_setup.h"
#include "larmor/train/session.h"

#include "app/agent.h"

namespace larmor::app {

namespace {

std::optional<ConsoleOptions> console_of(const Rank& rank, const Words& words) {
  if (rank.index != 0) return std::nullopt;
  ConsoleOptions console;
  console.descriptor = rank.console_error >= 0 ? rank.console_error : STDERR_FILENO;
  const auto environment = process_environment();
  const auto value = [&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? std::string() : found->second;
  };
  console.live = isatty(console.descriptor) == 1 && !words.json && value("TERM") != "dumb";
  console.color = console.live && !words.no_color && value("NO_COLOR").empty();
  console.quiet = words.quiet;
  return console;
}

/// A time that the leader says, in seconds since the epoch.
std::optional<double> time_from(const char* name) {
  const auto environment = process_environment();
  const auto found = environment.find(name);
  if (found == environment.end()) return std::nullopt;
  return std::stod(found->second);
}

Exit exit_of(const SessionEnd& end) {
  return end.training.reason == TrainingEnd::Reason::signal ? Exit::stopped : Exit::done;
}

SessionEnd train_in(Workload& workload, const LoadedConfig& config, const SessionOptions& options,
                    const Rank& rank, Rendezvous& rendezvous) {
  const auto plan = plan_from_json(read_json(options.folder.plan()));
  const auto index = index_from_json(read_json(options.folder.index()));
  auto communicator = rendezvous.connect(plan.device, device_index(rank, plan));
  return run_session(workload, config, plan, index, rank, std::move(communicator), options);
}

}  // namespace

int train_as_rank(Program& program, const TrainFlags& flags, const Rank& rank) {
  watch_stop_signals();
  dump_stacks_on_signal();
  const auto& words = program.words();
  SessionOptions options;
  options.folder = program.run_folder();
  log::open(text("rank ", rank.index), {}, flags.debug ? log::Level::debug : log::Level::info);
  auto& workload = program.workload(workload_of(options.folder));
  const auto config = load_run_config(options.folder, workload);
  if (flags.resume != "never") options.resume_from = flags.resume;
  options.step_limit = flags.steps;
  options.console = console_of(rank, words);
  options.ends_at = time_from("LARMOR_JOB_END");
  options.started_at = time_from("LARMOR_JOB_START");
  Rendezvous rendezvous(rank, {.meeting = start_limit()});
  return static_cast<int>(exit_of(train_in(workload, config, options, rank, rendezvous)));
}

}  // namespace larmor::app
