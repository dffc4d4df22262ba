#include "app/train/lead.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "larmor/base/clock.h"
#include "larmor/base/error.h"
#include "larmor/base/process/process.h"
#include "larmor/base/text.h"
#include "larmor/checkpoint/checkpoint.h"
#include "larmor/hardware/hardware.h"
#include "larmor/launch/fleet.h"
#include "larmor/launch/restart_policy.h"
#include "larmor/run/data_block.h"
#include "larmor/run/earlier/begun_run.h"
#include "larmor/run/earlier/earlier_run.h"
#include "larmor/run/machine.h"
#include "larmor/run/run_setup.h"
#include "larmor/run/standing/start_heartbeat.h"

#include "app/caches.h"
#include "app/report.h"
#include "app/say.h"
#include "app/train/gpu_watch.h"
#include "app/train/sender_line.h"
#include "app/train/train_end.h"
#include "app/train_command.h"

namespace larmor::app {

namespace {

Json request_json(const TrainRequest& request) {
  Json words;
  for (const auto& origin : request.loaded.config.origins) words[origin.key] = origin.value;
  words["--resume"] = request.flags.resume;
  words["--steps"] = request.flags.steps.value_or(0);
  words["--cases"] = request.flags.cases.value_or(0);
  words["--accept-config"] = request.flags.accept_config;
  return words;
}

/// Of this host; nothing where no other agent would read it.
Json own_hardware(const TrainRequest& request, const Agent& agent) {
  if (agent.is_alone()) return nullptr;
  HardwareSources sources;
  sources.run_folder = request.loaded.config.config.run.folder;
  return to_json(detect_machine(sources));
}

Introduction introduction_of(const TrainRequest& request, const Agent& agent) {
  return {.words = request_json(request),
          .hardware = own_hardware(request, agent),
          .run_folder = folder_of_runs(request)};
}

int64_t newest_step(const RunFolder& folder) {
  const auto newest = newest_committed(folder);
  return newest ? newest->step : -1;
}

/// What a person can go on with after a failure. Nobody has told of a save that ended with the ranks.
std::string way_on(const RunFolder& folder) {
  const auto newest = newest_committed(folder);
  return text("larmor train ", folder.root.string(),
              newest ? text(" goes on from the newest checkpoint, ", newest->folder.filename().string())
                     : " begins anew: no checkpoint has been saved");
}

/// Where nobody has said how often, a start that has saved something is worth another one; of the others the
/// fault would be met again.
RestartLimits restart_limits(const AgentFlags& flags) {
  constexpr int64_t usual = 3;  // of job files, too
  return {.most_restarts = flags.max_restarts.value_or(usual),
          .least_ranks = flags.min_ranks,
          .asks_for_progress = !flags.max_restarts && flags.min_ranks == 0};
}

class Leader {
 public:
  Leader(TrainRequest request, Agent agent)
      : request_(std::move(request)), agent_(std::move(agent)), storage_(make_storage()) {}

  int run();

 private:
  void say(const std::string& line) const {
    if (!request_.program.arguments().quiet) app::say(line);
  }
  PreparedRun prepare(LoadedStage loaded, const std::optional<RunFolder>& existing, StartOptions start);
  StartTerms terms() const;
  LaunchOptions launch_options() const;
  GroupEnding train();
  GroupEnding train_to_the_end();
  /// Another start of the same run; `ranks` is its parallel.ranks, "" as before.
  void prepare_again(const std::string& ranks);
  /// Of the GPUs of the plan's ranks those that are still there; nothing where ranks ran on other hosts or on
  /// no GPU.
  std::optional<std::vector<int>> devices_left() const;
  /// Of this host, those of the plan's ranks.
  std::vector<Gpu> gpus_of_ranks() const;
  GroupEnding stopped_by(int signal) const;
  int conclude(const GroupEnding& ending);
  /// Tells the person where that cannot be written.
  void mark_failed(const RunFolder& folder, int status, const std::string& reason);

  TrainRequest request_;
  std::string request_hash_ = hash_of_request(request_json(request_));  // of the request before it is used up
  Agent agent_;
  std::unique_ptr<Storage> storage_;
  SystemClock clock_;
  double started_ = clock_.wall_seconds();
  std::optional<Fleet> fleet_;
  int64_t agents_of_start_ = 1;
  std::optional<PreparedRun> run_;
  std::optional<StartHeartbeat> heartbeat_;  // ends before the lock is let go
  RunSenders senders_;
};

PreparedRun Leader::prepare(LoadedStage loaded, const std::optional<RunFolder>& existing,
                            StartOptions start) {
  if (!agent_.is_alone()) start.hardware = hardware_of(*fleet_);
  start.job = agent_.job.id;
  start.again = agent_.job.restarts > 0;
  auto run = prepare_run(request_.workload, std::move(loaded), existing, std::move(start), *storage_, clock_);
  for (const auto& note : run.notes) say(note);
  const auto& config = run.config.config;
  if (config.data.cache == "full" && !run.index.is_invented() && !run.already_done)
    say(prepared_images_message(config.data, config.workload));
  // Ranks of other hosts stand in other folders.
  run.folder.root = std::filesystem::absolute(run.folder.root);
  return run;
}

StartTerms Leader::terms() const {
  constexpr double ms_in_a_second = 1000;
  return {.run = run_->folder.root.filename().string(),
          .resume_step = resume_step_of(run_->folder, run_->resume_from),
          .began_at_ms = static_cast<int64_t>(std::llround(started_ * ms_in_a_second)),
          .ends_at = agent_.job.ends_at.value_or(0)};
}

LaunchOptions Leader::launch_options() const {
  const auto start = terms();
  LaunchOptions launch{train_command(request_, run_->folder, start, request_hash_)};
  launch.terms = start;
  launch.generation = run_->generation;
  launch.hang = parse_hang_limit(run_->config.config.parallel.hang_limit);
  // A rank that has lost its peers cannot save anything any more.
  launch.grace_seconds = 10;
  launch.asks_starting_ranks = false;
  return launch;
}

GroupEnding Leader::train() {
  if (run_->resume_from) {
    const auto step = run_->resume_from->step;
    say(text("resuming from step ", step, " (", run_->resume_from->folder.string(), ")"));
    if (const auto limit = request_.flags.steps; limit && step >= *limit)
      say(text("--steps ", *limit, ": the run has ", step, " steps already, and none is trained"));
  }
  agents_of_start_ = std::ssize(fleet_->agents());
  GpuWatch gpus(gpus_of_ranks());
  GroupEnding ending = fleet_->run(run_->plan, launch_options());
  require_newest_start(run_->folder, run_->generation);
  const auto reasons = gpus.finish();
  if (ending.exit != Exit::done && !ending.was_asked && !reasons.empty()) ending.message += "; " + reasons;
  return ending;
}

std::vector<Gpu> Leader::gpus_of_ranks() const {
  if (run_->plan.device != DeviceKind::cuda) return {};
  // What is known of several hosts is what all of them have alike.
  if (!agent_.is_alone()) return detect_hardware().gpus;
  std::vector<Gpu> gpus;
  for (const auto& seat : run_->plan.ranks)
    gpus.push_back(run_->hardware.gpus.at(static_cast<size_t>(seat.device)));
  return gpus;
}

void Leader::prepare_again(const std::string& ranks) {
  const RunFolder folder = run_->folder;
  StartOptions start;
  start.lock.emplace(std::move(*run_->lock));
  start.led = run_->generation;
  start.goes_on_without_room = true;  // what there is was enough for the start before
  run_.reset();
  std::vector<std::string> overrides;
  if (!ranks.empty()) overrides.push_back("parallel.ranks=" + ranks);
  try {
    run_.emplace(prepare(load_run_stage(folder, request_.workload, overrides), folder, std::move(start)));
  } catch (const Error& error) {
    if (error.exit() == Exit::rank_lost) throw;  // the folder is another start's
    mark_failed(folder, static_cast<int>(error.exit()), text("cannot be started again: ", error.message()));
    throw;
  }
}

std::optional<std::vector<int>> Leader::devices_left() const {
  const auto& plan = run_->plan;
  if (!agent_.is_alone() || plan.device != DeviceKind::cuda) return std::nullopt;
  const auto now = detect_hardware().gpus;
  std::vector<int> left;
  for (const auto& seat : plan.ranks) {
    const auto& before = run_->hardware.gpus.at(static_cast<size_t>(seat.device));
    const auto found = std::ranges::find(now, before.uuid, &Gpu::uuid);
    if (found != now.end()) left.push_back(found->index);
  }
  return left;
}

int Leader::conclude(const GroupEnding& ending) {
  const auto& folder = run_->folder;
  if (run_->already_done) {
    say(text(folder.root.string(), " is finished already; larmor train ", folder.root.string(),
             " train.length=LENGTH trains it for longer, and from.run=", folder.root.string(),
             " begins another run with its weights"));
    show_run(request_.program, folder, run_->config.config.checkpoint.metric, "done");
    return 0;
  }
  const auto earlier = earlier_of_run(request_.workload, run_->config.config.stage, folder);
  if (newest_step(folder) >= 0) {
    if (earlier != nullptr) forget_starting_weights(earlier->needs(), folder, *storage_);
    forget_begun(folder, *storage_);
  }
  const bool is_stopped = ending.raw_status == static_cast<int>(Exit::stopped);
  if (ending.exit == Exit::done || is_stopped) {
    return conclude_training(request_.program, folder, run_->config.config.checkpoint.metric, ending.exit,
                             *storage_);
  }
  app::say("larmor: " + ending.message);
  say_last_lines(ending.last_lines);
  app::say(text("  hint: the log is in ", folder.logs().string(), "; ", way_on(folder)));
  if (ending.exit == Exit::stopped) return ending.raw_status;  // asked for: no failure of the run
  const auto cause = cause_in(ending.last_lines);
  mark_failed(folder, ending.raw_status, text(ending.message, cause.empty() ? "" : ": ", cause));
  return ending.raw_status;
}

void Leader::mark_failed(const RunFolder& folder, int status, const std::string& reason) {
  try {
    mark_ended(*storage_, clock_, folder, status, reason);
  } catch (const Error& error) {
    app::say("  and " + error.message());
  }
}

int Leader::run() {
  fleet_.emplace(assemble(agent_, introduction_of(request_, agent_)));
  try {
    StartOptions start{.resume = request_.flags.resume_choice(),
                       .accept_config = request_.flags.accept_config,
                       .goes_on_without_room = request_.flags.no_check,
                       .cases = request_.flags.cases};
    if (request_.existing) start.changes = request_.program.arguments().overrides;
    run_.emplace(prepare(std::move(request_.loaded), request_.existing, std::move(start)));
    if (!run_->already_done) {
      heartbeat_.emplace(run_->folder);
      senders_.start(run_->folder);
    }
    const GroupEnding ending = run_->already_done ? GroupEnding() : train_to_the_end();
    const int status = conclude(ending);
    for (const auto& words : senders_.finish()) say(words);
    fleet_->dismiss(status, ending.message);
    return status;
  } catch (const Error& error) {
    fleet_->dismiss(static_cast<int>(error.exit()), error.message());
    throw;
  }
}

GroupEnding Leader::train_to_the_end() {
  const auto limits = restart_limits(request_.flags.agents);
  if (!request_.program.arguments().quiet) {
    const RunConfig& config = run_->config.config;
    const auto block = data_block(run_->index, config, work_of_run(config, run_->demand, run_->plan));
    app::say(Lines().add_text(explain(run_->plan, run_->hardware)).add(lines_of_data(block)));
  }
  for (const auto& words : senders_.first_words()) say(words);
  RestartPolicy policy(limits, newest_step(run_->folder));
  for (GroupEnding ending = train();; ending = train()) {
    const RunFolder& folder = run_->folder;
    // Ranks that measured the memory of a step may have changed the plan.
    const auto plan = ending.exit == Exit::memory ? plan_from_json(read_json(folder.plan())) : run_->plan;
    const auto next =
        policy.decide(ending, {.plan = plan,
                               .committed_step = newest_step(folder),
                               .agents_before = agents_of_start_,
                               .agents_left = std::ssize(fleet_->agents()),
                               .devices_left = ending.is_worth_a_restart() ? devices_left() : std::nullopt});
    if (!next.again) return next.ending;
    if (next.smaller_micro_batches) {
      say(text("larmor: ", ending.message, "; starting again with smaller micro-batches"));
      write_text(*storage_, folder.plan(), to_text(to_json(*next.smaller_micro_batches)));
      prepare_again({});
      continue;
    }
    say(text("larmor: ", ending.message, "; restart ", policy.restarts(), " of ", limits.most_restarts,
             next.wait_seconds > 0 ? text(" in ", human_seconds(next.wait_seconds)) : "",
             next.ranks.empty() ? "" : text(" with parallel.ranks=", next.ranks)));
    if (const int signal = fleet_->signal_within(next.wait_seconds)) return stopped_by(signal);
    prepare_again(next.ranks);
    policy.go_back_to(newest_step(run_->folder));
  }
}

/// Between two starts nothing runs that would have to save.
GroupEnding Leader::stopped_by(int signal) const {
  GroupEnding ending;
  ending.exit = Exit::stopped;
  ending.raw_status = newest_step(run_->folder) < 0 ? 128 + signal : static_cast<int>(Exit::stopped);
  ending.message = text("stopped by ", signal_name(signal), " between two starts");
  return ending;
}

}  // namespace

int lead(TrainRequest request, Agent agent) { return Leader(std::move(request), std::move(agent)).run(); }

int follow(const TrainRequest& request, Agent agent) {
  const auto request_hash = hash_of_request(request_json(request));
  return follow(agent, introduction_of(request, agent), [&](const StartTerms& terms) {
    return train_command(request, run_named(request, terms.run), terms, request_hash);
  });
}

}  // namespace larmor::app
