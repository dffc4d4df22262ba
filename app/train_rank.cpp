#include "app/train_rank.h"

#include <chrono>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <optional>
#include <vector>

#include <unistd.h>

#include "larmor/base/clock.h"
#include "larmor/base/error.h"
#include "larmor/base/log.h"
#include "larmor/base/text.h"
#include "larmor/comm/communicator.h"
#include "larmor/config/units.h"
#include "larmor/launch/stop_signal.h"
#include "larmor/train/run_setup.h"
#include "larmor/train/session.h"

#include "app/train_end.h"

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

int device_index(const Rank& rank, const Plan& plan) {
  return plan.device == DeviceKind::cuda ? plan.ranks.at(static_cast<size_t>(rank.local_index)).device : -1;
}

PeerLimits peer_limits() {
  PeerLimits limits;
  const auto environment = process_environment();
  const auto found = environment.find("LARMOR_START_LIMIT");
  if (found == environment.end()) return limits;
  const auto start = parse_length(found->second);
  if (start.unit != Length::Unit::seconds || start.amount <= 0) {
    fail(Exit::usage, text("the environment says LARMOR_START_LIMIT=", found->second, "; it must be a time"),
         "say 90s, 30min or 12h");
  }
  limits.meeting = std::chrono::milliseconds(static_cast<int64_t>(start.amount * 1000));
  return limits;
}

Exit exit_of(const SessionEnd& end) {
  return end.training.reason == TrainingEnd::Reason::signal ? Exit::stopped : Exit::done;
}

SessionEnd train_in(Workload& workload, const LoadedConfig& config, const SessionOptions& options,
                    const Rank& rank, Rendezvous& rendezvous) {
  const auto plan = plan_from_json(read_json(options.folder.plan()));
  const auto index = index_from_json(read_json(options.folder.index()));
  auto communicator = rendezvous.connect(plan.device, device_index(rank, plan));
  return run_session(workload, config.config, plan, index, rank, std::move(communicator), options,
                     config.sha256());
}

// Ranks that another program started may have been given different words. Collective.
void refuse_other_words(const std::string& ours, Communicator& communicator) {
  const auto all = all_gather_bytes(communicator, ours);
  std::vector<std::string> others;
  for (size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] != all[0]) others.push_back(text(rank));
  }
  if (others.empty()) return;
  fail(Exit::usage, text("rank ", join(others, ", "), " was given another configuration than rank 0"),
       "start every rank with the same words and the same LARMOR_ variables");
}

// Rank 0 prepares the run, which it holds until it ends; what came of it is known to all afterwards.
// Collective.
Json agree_on_run(const std::function<PreparedRun()>& prepare, std::optional<PreparedRun>& held,
                  Communicator& communicator) {
  Json message;
  if (communicator.is_first()) {
    try {
      held.emplace(prepare());
      message["folder"] = std::filesystem::absolute(held->folder.root).string();
      message["done"] = held->already_done;
      message["generation"] = held->generation;
      message["resume"] =
          held->resume_from ? std::filesystem::absolute(held->resume_from->folder).string() : "";
    } catch (const Error& error) {
      message["error"] = error.message();
      message["hint"] = error.hint();
      message["exit"] = static_cast<int>(error.exit());
    }
  }
  message = parse_json(broadcast_bytes(communicator, message.dump(), 0), "rank 0's preparation");
  if (message.contains("error")) {
    fail(static_cast<Exit>(message["exit"].get<int>()), message["error"].get<std::string>(),
         message["hint"].get<std::string>());
  }
  return message;
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
  Rendezvous rendezvous(rank, peer_limits());
  return static_cast<int>(exit_of(train_in(workload, config, options, rank, rendezvous)));
}

int train_as_adopted_rank(Program& program, const TrainFlags& flags, const Rank& rank) {
  watch_stop_signals();
  log::open(text("rank ", rank.index), {}, flags.debug ? log::Level::debug : log::Level::info);
  setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1);  // GPUs under the numbers that the plan gives them
  auto& words = program.words();
  if (flags.ranks.empty()) words.overrides.push_back(text("parallel.ranks=", rank.count));
  const auto existing =
      program.is_workload(words.target) ? std::nullopt : std::optional(program.run_folder());
  auto& workload = program.workload(existing ? workload_of(*existing) : words.target);
  // Every rank checks the words it was given before a port is touched.
  auto asked = existing ? load_run_config(*existing, workload, words.overrides) : program.load(workload);

  const auto storage = make_storage();
  const SystemClock clock;
  std::optional<PreparedRun> held;
  Rendezvous rendezvous(rank, peer_limits());
  const auto agreement = rendezvous.connect(DeviceKind::cpu, -1);
  refuse_other_words(text(asked.sha256(), " --resume ", flags.resume, " --steps ", flags.steps.value_or(0)),
                     *agreement);
  const auto prepare = [&] {
    return prepare_run(workload, std::move(asked), existing, flags.resume_choice(), *storage, clock);
  };
  const auto agreed = agree_on_run(prepare, held, *agreement);

  SessionOptions options;
  options.folder.root = agreed["folder"].get<std::string>();
  const auto config = load_run_config(options.folder, workload);
  const auto& metric = config.config.checkpoint.metric;
  if (agreed["done"].get<bool>()) {
    if (rank.index != 0) return static_cast<int>(Exit::done);
    if (!words.quiet) std::cerr << options.folder.root.string() << " is finished already\n";
    show_run(program, options.folder, metric, "done");
    return static_cast<int>(Exit::done);
  }
  if (const auto from = agreed["resume"].get<std::string>(); !from.empty()) options.resume_from = from;
  options.step_limit = flags.steps;
  options.console = console_of(rank, words);
  Rank member = rank;
  member.generation = agreed["generation"].get<int64_t>();  // of the run: another start counts anew
  const auto exit = exit_of(train_in(workload, config, options, member, rendezvous));
  return rank.index == 0 ? conclude_training(program, options.folder, metric, exit, *storage)
                         : static_cast<int>(exit);
}

}  // namespace larmor::app
