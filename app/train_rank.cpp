#include "app/train_rank.h"

#include <unistd.h>

#include <iostream>

#include "larmor/base/clock.h"
#include "larmor/base/error.h"
#include "larmor/base/log.h"
#include "larmor/base/text.h"
#include "larmor/comm/communicator.h"
#include "larmor/launch/stop_signal.h"
#include "larmor/train/run_setup.h"
#include "larmor/train/session.h"

namespace larmor::app {

namespace {

std::optional<ConsoleOptions> console_of(const Rank& rank, const Words& words) {
  if (rank.index != 0) return std::nullopt;
  ConsoleOptions console;
  console.descriptor = rank.console_error >= 0 ? rank.console_error : STDERR_FILENO;
  console.live = isatty(console.descriptor) == 1 && !words.json;
  console.color = console.live && !words.no_color;
  console.quiet = words.quiet;
  return console;
}

std::unique_ptr<Communicator> meet(const Rank& rank, const Plan& plan) {
  ConnectOptions options;
  options.device = plan.device;
  if (plan.device == DeviceKind::cuda) options.device_index = plan.ranks.at(static_cast<size_t>(rank.local_index)).device;
  return connect(rank, options);
}

// What the rank's end means as an exit status.
int status_of(const SessionEnd& end) {
  return static_cast<int>(end.training.reason == TrainingEnd::Reason::signal ? Exit::stopped : Exit::done);
}

SessionEnd train_in(Workload& workload, const LoadedConfig& config, const SessionOptions& options, const Rank& rank,
                    std::unique_ptr<Communicator> communicator) {
  const auto plan = plan_from_json(read_json(options.folder.plan()));
  const auto index = index_from_json(read_json(options.folder.index()));
  if (!communicator) communicator = meet(rank, plan);
  return run_session(workload, config.config, plan, index, rank, std::move(communicator), options, config.sha256());
}

}  // namespace

int train_as_rank(Program& program, const TrainFlags& flags, const Rank& rank) {
  watch_stop_signals();
  const auto& words = program.words();
  SessionOptions options;
  options.folder = program.run_folder();
  log::open(text("rank ", rank.index), {}, flags.debug ? log::Level::debug : log::Level::info);
  auto& workload = program.workload(workload_of(options.folder));
  const auto config = load_run_config(options.folder, workload);
  if (flags.resume != "never") options.resume_from = flags.resume;
  options.step_limit = flags.steps;
  options.console = console_of(rank, words);
  return status_of(train_in(workload, config, options, rank, nullptr));
}

int train_as_adopted_rank(Program& program, const TrainFlags& flags, const Rank& rank) {
  watch_stop_signals();
  auto& words = program.words();
  if (flags.ranks.empty()) words.overrides.push_back(text("parallel.ranks=", rank.count));
  const bool continues = !program.is_workload(words.target);
  auto& workload = program.workload(continues ? workload_of(program.run_folder()) : words.target);
  // Every rank checks the words it was given before a port is touched; rank 0's then decide.
  auto asked = continues ? load_run_config(program.run_folder(), workload, words.overrides) : program.load(workload);
  if (asked.config.parallel.device == "cuda") {
    fail(Exit::usage, "ranks on GPUs started by torchrun are not adopted yet", "start them with larmor train --ranks N");
  }
  auto communicator = connect(rank, {});

  std::optional<PreparedRun> run;
  Json message;
  const auto storage = make_storage();
  const SystemClock clock;
  if (rank.index == 0) {
    try {
      const auto existing = continues ? std::optional(program.run_folder()) : std::nullopt;
      run.emplace(prepare_run(workload, std::move(asked), existing, flags.resume_choice(), *storage, clock));
      message["folder"] = std::filesystem::absolute(run->folder.root).string();
      message["done"] = run->already_done;
      message["resume"] = run->resume_from ? std::filesystem::absolute(run->resume_from->folder).string() : "";
    } catch (const Error& error) {
      message["error"] = error.message();
      message["hint"] = error.hint();
      message["exit"] = static_cast<int>(error.exit());
    }
  }
  message = parse_json(broadcast_bytes(*communicator, message.dump(), 0), "rank 0's preparation");
  if (message.contains("error")) {
    fail(static_cast<Exit>(message["exit"].get<int>()), message["error"].get<std::string>(), message["hint"].get<std::string>());
  }
  SessionOptions options;
  options.folder.root = message["folder"].get<std::string>();
  if (!message["done"].get<bool>()) {
    const auto config = load_run_config(options.folder, workload);
    if (const auto from = message["resume"].get<std::string>(); !from.empty()) options.resume_from = from;
    options.step_limit = flags.steps;
    options.console = console_of(rank, words);
    const auto end = train_in(workload, config, options, rank, std::move(communicator));
    const bool over = end.training.reason == TrainingEnd::Reason::length_reached || end.training.reason == TrainingEnd::Reason::stopped_early;
    if (rank.index == 0 && over) mark_ended(*storage, clock, options.folder, 0, "length reached");
    if (rank.index == 0) program.show({{"run", options.folder.root.string()}}, text("run: ", options.folder.root.string(), "\n"));
    return status_of(end);
  }
  if (rank.index == 0) program.show({{"run", options.folder.root.string()}}, text("run: ", options.folder.root.string(), "\n"));
  return 0;
}

}  // namespace larmor::app
