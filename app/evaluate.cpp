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
#include "larmor/base/file.h"
#include "larmor/base/image.h"
#include "larmor/base/log.h"
#include "larmor/base/text.h"
#include "larmor/comm/communicator.h"
#include "larmor/comm/watched.h"
#include "larmor/data/cache/source_files.h"
#include "larmor/device/device.h"
#include "larmor/device/heartbeat.h"
#include "larmor/launch/launcher.h"
#include "larmor/launch/rank.h"
#include "larmor/launch/rank_threads.h"
#include "larmor/launch/stop_signal.h"
#include "larmor/track/work_report.h"
#include "larmor/train/beats_on_board.h"
#include "larmor/train/begun_run.h"
#include "larmor/train/checked_dataset.h"
#include "larmor/train/networks.h"
#include "larmor/train/run_index.h"
#include "larmor/train/stoppable_work.h"
#include "larmor/train/trained.h"
#include "larmor/train/validation.h"
#include "larmor/watch/hang_watch.h"
#include "larmor/watch/status_board.h"

#include "app/call_ranks.h"
#include "app/figure_words.h"
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

// Beside the pictures of training; a run that cannot be written to can be judged all the same.
Lines written_pictures(Storage& storage, const ValidationResult& result,
                       const std::filesystem::path& folder) {
  Lines lines;
  try {
    for (const auto& [name, image] : result.pictures) {
      storage.create_folders(folder);
      const auto file = folder / (name + ".png");
      write_png(storage, file, image);
      lines.add(text("  ", file.string()));
    }
  } catch (const Error& error) {
    log::warning(text("no pictures: ", error.message()));
  }
  return lines;
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

/// What a person should know of the data, on stderr and in the report.
void tell_of_data(const JudgedCases& judged, Json& json) {
  if (judged.is_other) json["other_data"] = true;
  if (judged.changes.any()) {
    json["changes"] = to_json(judged.changes);
    log::warning(text("the data have changed since the run started; the splits are the run's:",
                      listing(judged.changes)));
  }
  if (judged.trained_on.empty()) return;
  json["trained_on"] = judged.trained_on;
  log::warning(text(judged.trained_on.size(), judged.trained_on.size() == 1 ? " patient is" : " patients are",
                    " left out, because the run, or one that it builds on, has trained on them: ",
                    join(judged.trained_on, ", ")));
}

/// What a split is called among the lines for a person.
std::string headline(const JudgedCases& judged, int64_t used, int64_t patients, const Index& start,
                     const TrainedTask& trained) {
  const auto of_run = static_cast<int64_t>(start.of(judged.split).size());
  const auto whose = judged.is_other ? std::string(" of another data set than the run's")
                     : used < of_run ? text(" of the run's ", of_run)
                                     : std::string();
  const auto of_whom =
      patients == used ? std::string() : text(" (", patients, patients == 1 ? " patient)" : " patients)");
  return text(to_text(judged.split), ", ", used, used == 1 ? " case" : " cases", of_whom, whose, ", ",
              trained.checkpoint.folder.filename().string(), trained.average ? ", averaged weights" : "");
}

/// What a call judges, and with what. Ranks that are threads share it, but for the task.
struct Evaluation {
  TrainedTask trained;
  LoadedStage judging;  // with all words of the call; of it are the cases
  Index start;
  JudgedCases judged;
  std::unique_ptr<Dataset> dataset, reference;
  Json json;  // of the report, before there are results
};

/// What a person is told, by the first rank.
void show_result(Program& program, const ValidationResult& result, const DeclaredFigures& declared,
                 const Evaluation& evaluation) {
  const auto& [trained, judging, start, judged, owned, reference, known] = evaluation;
  const Dataset& dataset = *owned;
  Json json = known;
  const auto used = dataset.size() - static_cast<int64_t>(result.bad.size());
  json["n"] = used;
  json["patients"] = result.patients;
  if (!result.bad.empty()) {
    json["bad"] = to_json(result.bad);
    log::warning(text(result.bad.size(), " of ", dataset.size(),
                      " cases cannot be used and count in no metric:", listing(result.bad)));
  }
  json["checkpoint"] = trained.checkpoint.folder.filename().string();
  json["averaged"] = trained.average;
  Lines lines(headline(judged, used, result.patients, start, trained));
  add_figures(json, result, declared, dataset);
  lines.add(figure_lines(result, declared));
  lines.add(written_pictures(program.storage(), result,
                             program.run_folder().pictures() / ("evaluate-" + to_text(judged.split))));
  for (const Verdict& verdict : result.verdicts) lines.add(text("  ", sentence_of(verdict)));
  program.show(json, lines);
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
  Json json;
  json["split"] = to_text(judged.split);
  tell_of_data(judged, json);
  return {std::move(trained), std::move(judging),   std::move(start), std::move(judged),
          std::move(dataset), std::move(reference), std::move(json)};
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
  const auto& config = evaluation.judging.config.config;
  const SystemClock clock;
  constexpr double patience = 5;
  WorkReport report(STDERR_FILENO, patience, clock);
  ShowsProgress shows;
  if (!program.arguments().quiet) shows = [&report](const WorkProgress& progress) { report.show(progress); };
  const auto result = validate(*task, *evaluation.dataset, communicator,
                               {.device = device,
                                .precision = plan.precision,
                                .layout = plan.layout,
                                .seed = static_cast<uint64_t>(config.run.seed),
                                .pictures = true,
                                .depth = depth_of(arguments),
                                .batch = arguments.batch,
                                .workers = plan.loader_threads,
                                .reference = evaluation.reference.get(),
                                .after_case = send_heartbeat,
                                .stop_asked = asked_by_signal,
                                .progress = communicator.is_first() ? shows : ShowsProgress()});
  if (communicator.is_first()) show_result(program, result, task->figures(), evaluation);
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
  add_call_flags(verb, arguments->call);
}

}  // namespace larmor::app
