#include "app/train/train_rank.h"

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include "larmor/base/error.h"
#include "larmor/base/log.h"
#include "larmor/base/text.h"
#include "larmor/comm/communicator.h"
#include "larmor/device/device.h"
#include "larmor/launch/rank_threads.h"
#include "larmor/launch/stop_signal.h"
#include "larmor/run/run_setup.h"
#include "larmor/train/session.h"
#include "larmor/watch/stack_dump.h"

#include "app/report.h"
#include "app/train/agent.h"

namespace larmor::app {

namespace {

std::optional<ConsoleOptions> console_of(const Rank& rank, const VerbArguments& words) {
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

/// This process is a rank.
SessionEnd train_as_process(Program& program, const SessionOptions& options, const Plan& plan,
                            const Rank& rank) {
  const auto loaded = load_run_stage(options.folder, program.workload(workload_of(options.folder)));
  const auto index = index_from_json(read_json(options.folder.index()));
  Rendezvous rendezvous(rank, {.rendezvous = start_limit()});
  auto communicator = rendezvous.connect(plan.device, device_index(rank, plan));
  return run_session(loaded, plan, index, rank, std::move(communicator), options);
}

/// What a thread has of its own: one rank alone speaks.
struct ThreadParts {
  SessionOptions options;
  Rank rank;
};

std::vector<ThreadParts> parts_of_threads(const SessionOptions& options, const Plan& plan,
                                          const Rank& process) {
  std::vector<ThreadParts> all;
  for (int i = 0; i < plan.world_size(); ++i) {
    auto& parts = all.emplace_back(ThreadParts{options, process});
    parts.rank.index = parts.rank.local_index = i;
    if (i > 0) parts.options.console.reset();
  }
  return all;
}

/// This process is all ranks. They share what they read: the stage, its config, the index.
SessionEnd train_as_threads(Program& program, const SessionOptions& options, const Plan& plan,
                            const Rank& process) {
  const auto loaded = load_run_stage(options.folder, program.workload(workload_of(options.folder)));
  const auto index = index_from_json(read_json(options.folder.index()));
  const auto parts = parts_of_threads(options, plan, process);
  ThreadRendezvous rendezvous(plan.world_size(), plan.device);
  std::vector<SessionEnd> ends(parts.size());
  std::vector<RankThread> threads;
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto live = [&, i] {
      const auto& [own_options, rank] = parts[i];
      auto communicator = rendezvous.connect(rank.index, device_index(rank, plan));
      ends[i] = run_session(loaded, plan, index, rank, std::move(communicator), own_options);
    };
    threads.push_back({.live = live, .cores = plan.ranks[i].cores});
  }
  // As long as an agent waits for processes.
  constexpr double grace_seconds = 10;
  run_rank_threads(threads, grace_seconds, [](const std::exception_ptr& failure) { _exit(report(failure)); });
  return ends.front();
}

}  // namespace

int train_as_rank(Program& program, const TrainFlags& flags, const Rank& rank) {
  watch_lost_peers();
  SessionOptions options;
  options.before_training = watch_stop_signals;
  options.folder = program.run_folder();
  const auto plan = plan_from_json(read_json(options.folder.plan()));
  set_up_environment(plan);
  dump_stacks_on_signal();  // by a thread
  const bool is_all = plan.in_one_process();
  log::open(is_all ? text("ranks 0 to ", plan.world_size() - 1) : text("rank ", rank.index), {},
            flags.debug ? log::Level::debug : log::Level::info);
  if (flags.resume != "never") options.resume_from = flags.resume;
  options.step_limit = flags.steps;
  options.tries_out = !flags.no_check;
  options.console = console_of(rank, program.arguments());
  options.ends_at = time_from("LARMOR_JOB_END");
  options.started_at = time_from("LARMOR_JOB_START");
  const auto train = is_all ? train_as_threads : train_as_process;
  const auto end = train(program, options, plan, rank);
  return static_cast<int>(exit_of(end));
}

}  // namespace larmor::app
