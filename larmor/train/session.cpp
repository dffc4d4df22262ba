#include "larmor/train/session.h"

#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/files/fenced_storage.h"
#include "larmor/base/json.h"
#include "larmor/base/log.h"
#include "larmor/base/process/process.h"
#include "larmor/base/text.h"
#include "larmor/base/version.h"
#include "larmor/comm/watched.h"
#include "larmor/device/device.h"
#include "larmor/device/memory/memory_meter.h"
#include "larmor/judge/checked_dataset.h"
#include "larmor/measure/block_order.h"
#include "larmor/ranks/beats_on_board.h"
#include "larmor/run/earlier/begun_run.h"
#include "larmor/run/earlier/checkpoint_weights.h"
#include "larmor/run/room.h"
#include "larmor/run/run_change.h"
#include "larmor/run/run_index.h"
#include "larmor/run/run_setup.h"
#include "larmor/task/undrawn_task.h"
#include "larmor/train/heartbeat_storage.h"
#include "larmor/train/memory_probe.h"
#include "larmor/train/snapshot.h"
#include "larmor/train/start_agreement.h"
#include "larmor/train/trainer.h"

namespace larmor {

namespace {

StatusBoard open_board(const Rank& rank) {
  auto board = StatusBoard::from_environment(rank.index, rank.count);
  board.set(rank.index, Phase::starting, 0);
  return board;
}

/// Storage for the run folder. Every write throws rank_lost once a newer generation of this run has started.
std::unique_ptr<Storage> open_storage(const FaultPoint& faults, const RunFolder& folder, const Rank& rank,
                                      StatusBoard& board) {
  auto fenced = std::make_unique<FencedStorage>(faults.storage(), folder.generation_file(), rank.generation);
  // Training may wait for a save that another thread writes.
  return std::make_unique<HeartbeatStorage>(
      std::move(fenced), [&board, index = rank.index] { board.beat(index, Phase::saving); });
}

TimeLeft time_left(const RunConfig& config, const SessionOptions& options, const Clock& clock) {
  return {parse_stop_before(config.train.stop_before), options.ends_at, options.started_at, clock};
}

std::unique_ptr<Tracker> open_tracker(const RunConfig& config, const SessionOptions& options,
                                      const Rank& rank, Storage& storage, const Clock& clock,
                                      const Timetable& timetable, const TrainerState& state,
                                      const Task& task) {
  if (rank.index != 0) return make_silent_tracker();
  TrackerOptions sinks{.events = options.folder.events(),
                       .pictures = options.folder.pictures(),
                       .tensorboard = {},
                       .curves = options.folder.curves(),
                       .metric = config.checkpoint.metric,
                       .console = options.console,
                       .generation = rank.generation};
  if (config.track.tensorboard) sinks.tensorboard = options.folder.tensorboard();
  if (sinks.console) {
    sinks.console->total_steps = timetable.total_steps();
    sinks.console->start_step = state.progress.step;
    const auto& length = config.train.length;
    if (length.unit == Length::Unit::seconds) sinks.console->total_seconds = length.amount;
    sinks.console->figures = task.figures();
    sinks.console->metric = config.checkpoint.metric;
    sinks.console->lower_is_better = config.checkpoint.mode == "min";
    sinks.console->best = state.best_metric;
  }
  return make_tracker(sinks, storage, clock);
}

/// What has been changed of the run since it was begun.
struct Changes {
  std::vector<std::string> new_ones;  // by this start
  bool are_bitwise = true;            // all of them
};

Changes changes_since_begun(const RunFolder& folder, const Rank& rank) {
  Changes changes;
  for (auto& change : changes_of(read_json(folder.environment()))) {
    changes.are_bitwise = changes.are_bitwise && change.is_bitwise;
    if (change.generation == rank.generation) changes.new_ones.push_back(std::move(change.words));
  }
  return changes;
}

/// `planned` is the plan before a probe.
void tell_start(Tracker& tracker, const LoadedConfig& loaded, const Plan& planned, const Plan& plan,
                const SessionOptions& options, const Moment& moment, const Changes& changes) {
  tracker.start(moment, {.name = options.folder.root.filename().string(),
                         .facts = {{"workload", loaded.config.workload},
                                   {"stage", loaded.config.stage},
                                   {"config_sha256", loaded.sha256()},
                                   {"ranks", plan.world_size()},
                                   {"device", to_text(plan.device)},
                                   {"strategy", to_text(plan.strategy)},
                                   {"precision", to_text(plan.precision)},
                                   {"global_batch", plan.global_batch},
                                   {"micro_batch", plan.micro_batch},
                                   {"accumulation", plan.accumulation}}});
  if (plan.memory.measured > planned.memory.measured) tracker.event({}, "plan", {}, plan.reasons.back());
  for (const auto& words : changes.new_ones) tracker.event(moment, "change", {}, words);
}

void tell_remarks(Tracker& tracker, const std::vector<std::string>& remarks) {
  for (const auto& words : remarks) tracker.event({}, "note", {}, words);
}

CheckpointOptions checkpoint_options(const RunConfig& config, const Plan& plan, const Index& index,
                                     const Rank& rank, const LoadedConfig& loaded,
                                     const std::optional<CheckpointEntry>& resumed, const Changes& changes) {
  CheckpointOptions options;
  options.keep_last = config.checkpoint.keep_last;
  options.keep_best = config.checkpoint.keep_best;
  options.lower_is_better = config.checkpoint.mode == "min";
  options.async = config.checkpoint.async;
  options.generation = rank.generation;
  options.config_sha256 = loaded.sha256();
  options.index_sha256 = index.sha256();
  options.build = text(program_name(), ", ", build_description());
  options.bitwise = plan.deterministic && index.touched.empty() && changes.are_bitwise;
  options.resumed_from = resumed;
  return options;
}

BatchSlice slice_of(const Plan& plan, const Rank& rank) {
  return {.global_batch = plan.global_batch,
          .micro_batch = plan.micro_batch,
          .accumulation = plan.accumulation,
          .rank = rank.index,
          .ranks = rank.count};
}

LoaderOptions loader_options(const Plan& plan, int64_t bad_files, const std::map<int64_t, BadFile>& known_bad,
                             std::function<void()> goes_on) {
  return {.workers = plan.loader_threads,
          .prefetch = plan.prefetch,
          .pinned = plan.device == DeviceKind::cuda,
          .bad_files = bad_files,
          .known_bad = known_bad,
          .goes_on = std::move(goes_on)};
}

/// What a session trains and validates on.
struct Cases {
  std::unique_ptr<Dataset> training, validation, reference;  // the last may be null
  ExampleOrder order;                                        // of training
  int64_t bad_files;                                         // that it may go on without
};

Cases open_cases(const Stage& stage, const RunConfig& config, const Index& index) {
  auto training = checked_dataset(stage, config, index, Split::train);
  auto order = stage.order(config, index, *training);
  const auto bad_files = bad_file_budget(config.data.bad_files, training->size());
  return {.training = std::move(training),
          .validation = checked_dataset(stage, config, index, Split::val),
          .reference = stage.reference(config, index, ValidationDepth::quick),
          .order = std::move(order),
          .bad_files = bad_files};
}

/// Borrows the cases and the board.
auto loader_of(const Cases& cases, const Rank& rank, StatusBoard& board) {
  return [&cases, rank, &board](const Plan& plan, int64_t consumed,
                                const std::map<int64_t, BadFile>& known_bad) {
    // A worker that goes on says nothing of a rank that does something else than wait for it.
    const auto goes_on = [&board, index = rank.index] { board.beat(index, Phase::waiting_for_data); };
    return std::make_unique<Loader>(*cases.training, cases.order, slice_of(plan, rank), consumed,
                                    loader_options(plan, cases.bad_files, known_bad, goes_on));
  };
}

void log_start(const Rank& rank, const Plan& plan, const c10::Device& device, const Cases& cases,
               int64_t step) {
  log::info(text("rank ", rank.index, " of ", rank.count, " on ", host_name(), ": ", device.str(), ", ",
                 plan.threads_per_rank, " threads, ", cases.training->size(), " training and ",
                 cases.validation->size(), " validation cases, from step ", step));
}

/// The plan, after a probe where there is to be one. A resumed run measures nothing anew.
Plan plan_to_train_by(const Stage& stage, const RunConfig& config, const Plan& planned, const Index& index,
                      Communicator& communicator, const SessionOptions& options, Storage& storage) {
  // A rank that takes more than its share of the host would have another, or all, killed by the system. The
  // meter counts what all threads of a process hold.
  if (planned.device == DeviceKind::cpu && metered_memory_limit() == 0) {
    const int64_t ranks_here = planned.in_one_process() ? planned.world_size() : 1;
    start_memory_meter();
    limit_metered_memory(planned.memory.available * ranks_here);
  }
  if (options.resume_from || !is_probed(config, planned)) return planned;
  Plan probed = probe_memory(stage, config, planned, index, communicator);
  if (communicator.is_first()) write_text(storage, options.folder.plan(), to_text(to_json(probed)));
  return probed;
}

/// What a session goes on from.
struct Resumed {
  std::optional<CheckpointEntry> entry;
  TrainerState state;
};

/// Whether it is whole, by one look at each of its bytes on each host: what one finds damaged none reads.
/// Collective.
CheckpointEntry verify_together(const std::filesystem::path& chosen, const Rank& rank,
                                Communicator& communicator) {
  auto entry = rank.local_index == 0 ? verify_checkpoint(chosen) : open_checkpoint(chosen);
  for (const auto& reason : all_gather_bytes(communicator, entry.ok ? "" : entry.reason)) {
    if (reason.empty() || !entry.ok) continue;
    entry.ok = false;
    entry.reason = reason;
  }
  return entry;
}

/// A task, and what the run begins with, where it is new.
struct OpenTask {
  std::unique_ptr<Task> task;
  std::optional<BegunFrom> begun;
};

/// Collective.
OpenTask open_task(const Stage& stage, const RunConfig& config, const Index& index,
                   const SessionOptions& options, const Rank& rank, Communicator& communicator) {
  if (options.resume_from) return {.task = undrawn_task(stage, config, index), .begun = {}};
  auto begun = kept_begun(options.folder);
  if (!begun) {
    auto task = stage.task(config, index);
    task->start();
    return {.task = std::move(task), .begun = {}};
  }
  begun->checkpoint = verify_together(begun->checkpoint.folder, rank, communicator);
  auto task = undrawn_task(stage, config, index);
  begin_with(begun->checkpoint, begun->average, *task);
  return {.task = std::move(task), .begun = std::move(begun)};
}

/// Collective.
Resumed resume(const SessionOptions& options, const std::optional<BegunFrom>& begun,
               const LoadedConfig& config, const Index& index, Task& task, std::vector<Learner>& learners,
               const Rank& rank, Communicator& communicator) {
  if (begun && begun->with_optimizer) restore_optimizers(begun->checkpoint, learners);
  if (!options.resume_from) return {};
  auto entry = verify_together(*options.resume_from, rank, communicator);
  auto state = restore(entry, task, learners);
  const bool is_own = is_own_checkpoint(options.folder, entry);
  if (!is_own && !compare_origin(entry, config.sha256(), index.sha256()).both()) {
    // Judged by another metric, network or split.
    state.best_metric.reset();
    state.best_step = 0;
    state.validations_without_gain = 0;
    state.due_validation.reset();
    state.told.clear();
    for (auto& [objective, plateau] : state.plateaus) plateau.waited = 0;
  }
  return {.entry = std::move(entry), .state = std::move(state)};
}

/// Collective.
void compare_ranks(const LoadedStage& loaded, const Plan& plan, const Index& index, const Rank& rank,
                   const SessionOptions& options, Communicator& communicator) {
  const RunConfig& config = loaded.config.config;
  auto facts = start_facts(loaded.config, plan, index);
  if (looks_for_host(rank)) {
    facts.data_complaint =
        compare_data(index, [&] { return seen_of_run(index, loaded.stage->found(config)); });
    // Where there was room for the start before, the run goes on.
    facts.lacks_room = lack_of_room(*loaded.stage, config, index, !options.tries_out || options.resume_from);
  }
  agree_on_start(facts, communicator);
}

/// `started`: steady seconds.
SessionEnd train(Trainer& trainer, const SessionOptions& options, bool is_begun, const Timetable& timetable,
                 const Clock& clock, double started) {
  if (!options.resume_from) {
    // What a task has found out belongs to its weights.
    if (!is_begun) trainer.prepare();
    if (options.tries_out) trainer.try_out();
  }
  options.before_training();
  SessionEnd end{.training = trainer.run()};
  end.epochs = timetable.epoch(end.training.state.progress);
  end.seconds = clock.steady_seconds() - started;
  return end;
}

SessionEnd record_end(Tracker& tracker, const SessionEnd& end) {
  static constexpr const char* reasons[] = {"length reached", "stopped early", "step limit", "signal"};
  const auto& state = end.training.state;
  Values values{{"end/seconds", end.seconds},
                {"end/non_finite_steps", static_cast<double>(state.non_finite_steps)}};
  if (state.best_metric) {
    values["best/step"] = static_cast<double>(state.best_step);
    values["best/value"] = *state.best_metric;
  }
  tracker.event(
      {.step = state.progress.step, .epoch = end.epochs, .examples = state.progress.examples}, "end", values,
      end.training.words.empty() ? reasons[static_cast<size_t>(end.training.reason)] : end.training.words);
  tracker.flush();
  log::info(text("done at step ", state.progress.step, " after ", fixed(end.seconds, 1), " s"));
  return end;
}

}  // namespace

SessionEnd run_session(const LoadedStage& loaded, const Plan& planned, const Index& index, const Rank& rank,
                       std::unique_ptr<Communicator> connected, const SessionOptions& options) {
  const Stage& stage = *loaded.stage;
  const RunConfig& config = loaded.config.config;
  SystemClock clock;
  const double started = clock.steady_seconds();
  auto faults = FaultPoint::from_environment(rank);
  auto board = open_board(rank);
  BeatsOnBoard beats(board, rank.index);
  const auto storage = open_storage(faults, options.folder, rank, board);
  const auto communicator = watched(std::move(connected), board);
  faults.reach(Phase::starting, 0);
  check_fence(options.folder.generation_file(), rank.generation);
  const auto device = communicator->device();  // device
  set_up_process(planned, device);
  compare_ranks(loaded, planned, index, rank, options, *communicator);
  const auto changes = changes_since_begun(options.folder, rank);
  const Plan plan = plan_to_train_by(stage, config, planned, index, *communicator, options, *storage);
  const Cases cases = open_cases(stage, config, index);  // data
  const Timetable timetable(config.train, cases.order.examples(), plan.global_batch);
  const auto [task, begun] = open_task(stage, config, index, options, rank, *communicator);  // model
  const auto blocks = blocks_to_cut(stage, config, plan, index, *cases.training, *task);
  auto learners = make_learners(*task, blocks, config, plan, &timetable, *communicator);  // parallel
  const auto rank_sums = plan.sync_batch_norm ? std::make_unique<RankSums>(*communicator) : nullptr;
  const auto [resumed, state] =
      resume(options, begun, loaded.config, index, *task, learners, rank, *communicator);
  const auto tracker =
      open_tracker(config, options, rank, *storage, clock, timetable, state, *task);   // track
  CheckpointWriter checkpoints(options.folder.checkpoints(), *storage, *communicator,  // checkpoint
                               checkpoint_options(config, plan, index, rank, loaded.config, resumed, changes),
                               [&](const SaveOutcome& outcome) { record_save(*tracker, outcome); });
  Quarantine quarantine(options.folder.quarantine(), cases.bad_files, *storage, *communicator, *tracker,
                        index.bad);
  Trainer trainer({.config = config,
                   .plan = plan,
                   .timetable = timetable,
                   .task = *task,
                   .learners = learners,
                   .open_loader = loader_of(cases, rank, board),
                   .training_cases = *cases.training,
                   .validation_cases = *cases.validation,
                   .reference_cases = cases.reference.get(),
                   .checkpoints = checkpoints,
                   .quarantine = quarantine,
                   .tracker = *tracker,
                   .communicator = *communicator,
                   .rank_sums = rank_sums.get(),
                   .board = board,
                   .faults = faults,
                   .clock = clock,
                   .time_left = time_left(config, options, clock),
                   .device = device,
                   .step_limit = options.step_limit,
                   .stop_asked = options.stop_asked},
                  state);
  log_start(rank, plan, device, cases, state.progress.step);
  tell_start(*tracker, loaded.config, planned, plan, options, timetable.moment(state.progress), changes);
  if (!options.resume_from) tell_remarks(*tracker, stage.remarks(config));
  return record_end(*tracker, train(trainer, options, begun.has_value(), timetable, clock, started));
}

Json read_end(const RunFolder& folder) {
  Json end;
  std::ifstream file(folder.events());
  for (std::string line; std::getline(file, line);) {
    if (line.find("\"kind\":\"end\"") == std::string::npos) continue;
    if (!Json::accept(line)) continue;  // torn by a kill or a full disk
    end = parse_json(line, folder.events().string());
  }
  if (end.is_null()) return end;
  const auto& values = end.at("values");
  Json summary;
  summary["steps"] = end.at("step");
  summary["epochs"] = end.at("epoch");
  summary["seconds"] = values.at("end/seconds");
  summary["best"] = nullptr;
  if (values.contains("best/value"))
    summary["best"] = {{"step", values.at("best/step")}, {"value", values.at("best/value")}};
  summary["reason"] = end.at("text");
  return summary;
}

}  // namespace larmor
