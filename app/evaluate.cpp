// `evaluate`: the metrics of a split from a run's checkpoint.
#include <algorithm>
#include <array>
#include <exception>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <unistd.h>

#include "larmor/base/clock.h"
#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/log.h"
#include "larmor/base/text.h"
#include "larmor/comm/communicator.h"
#include "larmor/comm/watched.h"
#include "larmor/data/cache/source_files.h"
#include "larmor/device/device.h"
#include "larmor/device/heartbeat.h"
#include "larmor/judge/case_facts.h"
#include "larmor/judge/case_tables.h"
#include "larmor/judge/checked_dataset.h"
#include "larmor/judge/stoppable_work.h"
#include "larmor/judge/validation.h"
#include "larmor/launch/launcher.h"
#include "larmor/launch/rank.h"
#include "larmor/launch/rank_threads.h"
#include "larmor/launch/stop_signal.h"
#include "larmor/run/earlier/begun_run.h"
#include "larmor/run/earlier/trained.h"
#include "larmor/run/run_index.h"
#include "larmor/task/networks.h"
#include "larmor/track/work_report.h"
#include "larmor/train/beats_on_board.h"
#include "larmor/watch/hang_watch.h"
#include "larmor/watch/status_board.h"

#include "app/call_ranks.h"
#include "app/evaluation.h"
#include "app/program.h"
#include "app/report.h"
#include "app/say.h"
#include "app/train/agent.h"
#include "app/train/gpu_watch.h"

namespace larmor::app {

namespace {

struct EvaluateArguments {
  std::string split, checkpoint = "best";
  int64_t batch = 1;
  bool quick = false;
  std::string output;
  std::vector<std::string> by, columns;
  CallFlags call;
};

// Nothing was said: what is usual for the data.
std::optional<Split> split_named(const std::string& name) {
  if (name.empty()) return std::nullopt;
  for (const auto split : {Split::train, Split::val, Split::test}) {
    if (to_text(split) == name) return split;
  }
  const auto near = nearest(name, std::vector<std::string>{"train", "val", "test"});
  fail(Exit::usage, text("there is no split ", name),
       text(near.empty() ? "" : text("did you mean ", near, "? "), "say train, val or test"));
}

ValidationDepth depth_of(const EvaluateArguments& arguments) {
  return arguments.quick ? ValidationDepth::quick : ValidationDepth::full;
}

bool names_data(const std::vector<std::string>& overrides) {
  constexpr std::array keys{"data.folder=", "data.list=", "data.kind=", "data.phantom_", "data.cohort_"};
  return std::any_of(overrides.begin(), overrides.end(), [&](const std::string& word) {
    return std::any_of(keys.begin(), keys.end(), [&](const char* key) { return word.starts_with(key); });
  });
}

/// The words that change what is trained and how, without those that say which cases are judged: a task, its
/// training cases and what it has learnt of them are the run's.
std::vector<std::string> words_for_task(std::vector<std::string> overrides) {
  std::erase_if(overrides, [](const std::string& word) { return word.starts_with("data."); });
  return overrides;
}

/// Training cases for figures that compare with them: for another data set those of the run, where they still
/// are. `judging`: the stage with all words of the call; `trained`: without those for other data.
std::unique_ptr<Dataset> reference_of(const LoadedStage& judging, const LoadedStage& trained,
                                      const Index& start, const JudgedCases& judged, ValidationDepth depth) {
  if (!judged.is_other) return judging.stage->reference(judging.config.config, judged.index, depth);
  Index there = start;
  if (!start.is_invented()) {
    const auto states = states_since(start, start);
    std::erase_if(there.cases, [&](const Case& entry) { return !states.contains(entry.name()); });
  }
  if (!there.of(Split::train).empty()) return trained.stage->reference(trained.config.config, there, depth);
  log::warning(text("the training cases of the run are no longer in ", start.folder.string(),
                    ": figures that need them are left out"));
  return nullptr;
}

Evaluation read_evaluation(Program& program, const EvaluateArguments& arguments) {
  const auto folder = program.run_folder();
  const auto& words = program.arguments().overrides;
  const auto& workload = program.workload(workload_of(folder));
  auto trained =
      choose_trained(folder, workload, words_for_task(words),
                     {.checkpoint = arguments.checkpoint, .weights = arguments.call.weights.choice()});
  auto judging = load_run_stage(folder, workload, words);
  const Stage& stage = *judging.stage;
  const auto& config = judging.config.config;
  auto start = index_from_json(read_json(folder.index()));
  auto judged = cases_to_judge(start, stage.found(config), split_named(arguments.split), names_data(words),
                               trained_before(folder));
  auto dataset = checked_dataset(stage, config, judged.index, judged.split);
  auto reference = reference_of(judging, trained.loaded, start, judged, depth_of(arguments));
  CaseColumns facts, of_stage;
  const bool wants_facts = !arguments.output.empty() || !arguments.by.empty();
  if (wants_facts) of_stage = stage.facts(config, judged.index, judged.split);
  if (!arguments.by.empty())
    facts = known_facts(arguments.columns, config.data, judged.index, *dataset, of_stage);
  // Nobody chooses a threshold by whom it is judged.
  std::unique_ptr<Dataset> choosing;
  const bool has_others = judged.split != Split::val && !judged.index.of(Split::val).empty();
  if (!arguments.output.empty() && has_others)
    choosing = checked_dataset(stage, config, judged.index, Split::val);
  Json json;
  json["split"] = to_text(judged.split);
  tell_of_data(judged, json);
  return {.trained = std::move(trained),
          .judging = std::move(judging),
          .start = std::move(start),
          .judged = std::move(judged),
          .dataset = std::move(dataset),
          .reference = std::move(reference),
          .choosing = std::move(choosing),
          .facts = std::move(of_stage),
          .known = std::move(facts),
          .by = arguments.by,
          .output = arguments.output,
          .json = std::move(json)};
}

/// One rank's part. Collective.
void judge(Program& program, const EvaluateArguments& arguments, const Plan& plan,
           const Evaluation& evaluation, Communicator& communicator) {
  const auto device = communicator.device();
  set_up_process(plan, device);
  watch_stop_signals();
  const StoppableWork here(asked_by_signal);
  const auto task = task_of(evaluation.trained, program.run_folder(), device, plan.precision);
  lay_out_kernels(*task, plan.layout);
  check_parts(evaluation, *task);
  const auto& config = evaluation.judging.config.config;
  const SystemClock clock;
  constexpr double patience = 5;
  WorkReport report(STDERR_FILENO, patience, clock);
  ShowsProgress shows;
  if (!program.arguments().quiet) shows = [&report](const WorkProgress& progress) { report.show(progress); };
  ValidationOptions options{.device = device,
                            .precision = plan.precision,
                            .layout = plan.layout,
                            .seed = static_cast<uint64_t>(config.run.seed),
                            .pictures = true,
                            .depth = depth_of(arguments),
                            .batch = arguments.batch,
                            .workers = plan.loader_threads,
                            .reference = evaluation.reference.get(),
                            .columns = !evaluation.output.empty(),
                            .groups = parts_of(evaluation),
                            .after_case = send_heartbeat,
                            .stop_asked = asked_by_signal,
                            .progress = communicator.is_first() ? shows : ShowsProgress()};
  const auto result = validate(*task, *evaluation.dataset, communicator, options);
  std::vector<ScoredTruths> choosing;
  if (evaluation.choosing && !result.scores.empty()) {
    options.pictures = false;
    options.depth = ValidationDepth::quick;
    options.groups = {};
    choosing = validate(*task, *evaluation.choosing, communicator, options).scores;
  }
  if (communicator.is_first()) show_result(program, result, choosing, task->figures(), evaluation);
}

/// This process is one rank. `board`: of the ranks that the launcher watches.
int judge(Program& program, const EvaluateArguments& arguments, const Plan& plan, Communicator& communicator,
          StatusBoard& board) {
  const int rank = communicator.rank();
  set_up_process(plan, communicator.device());
  board.set(rank, Phase::starting, 0);
  const auto evaluation = read_evaluation(program, arguments);
  board.set(rank, Phase::validating, evaluation.trained.checkpoint.step);
  judge(program, arguments, plan, evaluation, communicator);
  board.set(rank, Phase::finished, evaluation.trained.checkpoint.step);
  return 0;
}

/// This process is all ranks, which are on CPUs: what they read they read once, and nothing has to be started
/// beside.
int judge_by_threads(Program& program, const EvaluateArguments& arguments, const Plan& plan) {
  const auto evaluation = read_evaluation(program, arguments);
  ThreadRendezvous rendezvous(plan.world_size(), plan.device);
  std::vector<RankThread> threads;
  for (int rank = 0; rank < plan.world_size(); ++rank) {
    const auto live = [&, rank] {
      const auto communicator = rendezvous.connect(rank, /*device_index=*/-1);
      judge(program, arguments, plan, evaluation, *communicator);
    };
    threads.push_back({.live = live, .cores = plan.ranks[static_cast<size_t>(rank)].cores});
  }
  // As long as an agent waits for processes.
  constexpr double grace_seconds = 10;
  run_rank_threads(threads, grace_seconds, [](const std::exception_ptr& failure) { _exit(report(failure)); });
  return 0;
}

int judge_as_rank(Program& program, const EvaluateArguments& arguments) {
  const auto rank = find_rank(process_environment());
  require(rank.has_value(), Exit::usage, "--plan is for ranks that larmor has started");
  const auto plan = plan_from_json(read_json(arguments.call.plan));
  set_up_environment(plan);
  auto board = StatusBoard::from_environment(rank->index, rank->count);
  const BeatsOnBoard beats(board, rank->index);
  Rendezvous rendezvous(*rank, {.rendezvous = start_limit()});
  const auto communicator = watched(rendezvous.connect(plan.device, device_index(*rank, plan)), board);
  return judge(program, arguments, plan, *communicator, board);
}

/// Rank 0 speaks for all.
int judge_by_processes(Program& program, const EvaluateArguments& arguments, const RunConfig& config,
                       const Plan& plan) {
  const ScratchFolder scratch;
  const auto plan_file = scratch.path() / "plan.json";
  write_text(program.storage(), plan_file, to_text(to_json(plan)));
  LaunchOptions launch;
  launch.arguments = {"evaluate"};
  for (const auto& word : words_for_ranks(program)) launch.arguments.push_back(word);
  launch.arguments.insert(launch.arguments.end(), {"--plan", plan_file.string(), "--checkpoint",
                                                   arguments.checkpoint, "--batch", text(arguments.batch)});
  if (!arguments.split.empty()) launch.arguments.insert(launch.arguments.end(), {"--split", arguments.split});
  if (!arguments.output.empty())
    launch.arguments.insert(launch.arguments.end(), {"--output", arguments.output});
  for (const auto& column : arguments.by) launch.arguments.insert(launch.arguments.end(), {"--by", column});
  for (const auto& table : arguments.columns)
    launch.arguments.insert(launch.arguments.end(), {"--columns", table});
  if (arguments.quick) launch.arguments.emplace_back("--quick");
  for (const auto& word : arguments.call.weights.words()) launch.arguments.push_back(word);
  launch.log_folder = scratch.path();
  launch.first_rank_speaks = true;
  launch.console = false;
  launch.hang = parse_hang_limit(config.parallel.hang_limit);
  launch.grace_seconds = 10;
  GpuWatch gpus(gpus_of(plan));
  const auto end = run_ranks(plan, launch);
  const auto reasons = gpus.finish();
  if (end.rank_status == reader_had_enough) return reader_had_enough;
  // A rank that ended by itself has said why.
  const bool is_said =
      (end.first_rank == 0 && end.rank_status != 0) || end.raw_status == static_cast<int>(Exit::stopped);
  if (end.exit == Exit::done || is_said) return end.raw_status;
  say(text("larmor: ", end.message, reasons.empty() ? "" : "; ", reasons));
  say_last_lines(end.last_lines);
  return end.raw_status;
}

/// How many cases there are to judge. One rank alone need not know: the files are looked at but once then.
int64_t count_cases(const Program& program, const EvaluateArguments& arguments, const LoadedStage& loaded) {
  if (arguments.call.place.ranks == "1") return 1;
  const auto start = index_from_json(read_json(program.run_folder().index()));
  const auto judged = cases_to_judge(start, loaded.stage->found(loaded.config.config),
                                     split_named(arguments.split), names_data(program.arguments().overrides));
  return std::max<int64_t>(1, std::ssize(judged.index.of(judged.split)));
}

int evaluate(Program& program, const EvaluateArguments& arguments) {
  if (arguments.call.is_rank()) return judge_as_rank(program, arguments);
  split_named(arguments.split);
  if (!arguments.output.empty()) check_table_folder(arguments.output);
  require(arguments.columns.empty() || !arguments.by.empty(), Exit::usage, "--columns needs --by",
          "say which of its columns parts the cases");
  arguments.call.weights.choice();
  const auto folder = program.run_folder();
  const auto loaded =
      load_run_stage(folder, program.workload(workload_of(folder)), program.arguments().overrides);
  const auto plan = plan_call(arguments.call, loaded.config.config, count_cases(program, arguments, loaded));
  if (plan.world_size() > 1 && plan.device != DeviceKind::cpu)
    return judge_by_processes(program, arguments, loaded.config.config, plan);
  set_up_environment(plan);
  if (plan.world_size() > 1) return judge_by_threads(program, arguments, plan);
  const auto alone = connect(Rank(), {.device = plan.device, .device_index = device_index(Rank(), plan)});
  StatusBoard board(1);
  return judge(program, arguments, plan, *alone, board);
}

}  // namespace

void add_evaluate(Program& program) {
  const auto arguments = std::make_shared<EvaluateArguments>();
  auto& verb = program.add_run_verb("evaluate", "metrics of a run's checkpoint over a split",
                                    [&program, arguments] { return evaluate(program, *arguments); });
  verb.add_option("--split", arguments->split, "train, val or test; without it val, and of other data test");
  verb.add_option("--checkpoint", arguments->checkpoint, "best, last or a checkpoint folder");
  verb.add_option("--batch", arguments->batch, "cases that a GPU computes together")->check(at_least(1));
  verb.add_flag("--quick", arguments->quick, "no sampling and no intervals, as during training");
  verb.add_option("--output", arguments->output, "a folder for tables with a row a case and a row a patient");
  verb.add_option("--by", arguments->by, "figures for each group that this column makes; repeatable");
  verb.add_option("--columns", arguments->columns,
                  "a table with columns for --by, a row a case or a patient; repeatable");
  add_call_flags(verb, arguments->call);
}

}  // namespace larmor::app
