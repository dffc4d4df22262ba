#include "app/train/train_rank.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <unistd.h>

#include "larmor/base/log.h"
#include "larmor/base/text.h"
#include "larmor/device/device.h"
#include "larmor/launch/stop_signal.h"
#include "larmor/ranks/run.h"
#include "larmor/run/run_setup.h"
#include "larmor/train/session.h"
#include "larmor/watch/stack_dump.h"

#include "app/call_ranks.h"

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

/// Of a rank that was started by hand, for a run folder that has been prepared.
ranks::Job job_by_words(const Program& program, const TrainFlags& flags, const Rank& rank) {
  const auto folder = program.run_folder();
  ranks::Job job{.plan = plan_from_json(read_json(folder.plan())), .rank = rank};
  job.request = {{"run", folder.root.string()}, {"resume", flags.resume}};
  if (job.plan.in_one_process()) job.means = ranks::Job::Means::threads;
  set_up_environment(job.plan);
  return job;
}

}  // namespace

int train_as_rank(Program& program, const TrainFlags& flags, const Rank& process) {
  watch_lost_peers();
  auto inherited = ranks::inherited_job();
  const auto job = inherited ? std::move(*inherited) : job_by_words(program, flags, process);
  dump_stacks_on_signal();  // by a thread
  const bool in_threads = job.plan.in_one_process();
  log::open(in_threads ? text("ranks 0 to ", job.plan.world_size() - 1) : text("rank ", process.index), {},
            flags.verbose ? log::Level::debug : log::Level::info);
  SessionOptions options;
  options.before_training = watch_stop_signals;
  options.folder = {job.request.at("run").get<std::string>()};
  if (const std::string resume = job.request.at("resume"); resume != "never") options.resume_from = resume;
  options.step_limit = flags.steps;
  options.tries_out = !flags.no_check;
  options.console = console_of(process, program.arguments());
  options.ends_at = time_from("LARMOR_JOB_END");
  options.started_at = time_from("LARMOR_JOB_START");
  SessionEnd end;
  run_on_ranks(program, job, [&] {
    const auto loaded = std::make_shared<const LoadedStage>(
        load_run_stage(options.folder, program.workload(workload_of(options.folder))));
    return [&, loaded, index = index_from_json(read_json(options.folder.index()))](ranks::LiveRank& rank) {
      auto own = options;
      if (!rank.is_first()) own.console.reset();
      auto communicator = rank.connect(job.plan.device, device_index(rank.place(), job.plan));
      auto ended = run_session(*loaded, job.plan, index, rank.place(), std::move(communicator), own);
      if (rank.is_first() || !in_threads) end = std::move(ended);
    };
  });
  return static_cast<int>(exit_of(end));
}

}  // namespace larmor::app
