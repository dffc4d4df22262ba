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
#include "larmor/base/log.h"
#include "larmor/base/text.h"
#include "larmor/comm/communicator.h"
#include "larmor/data/cache/source_files.h"
#include "larmor/device/device.h"
#include "larmor/judge/case_facts.h"
#include "larmor/judge/case_tables.h"
#include "larmor/judge/checked_dataset.h"
#include "larmor/judge/stoppable_work.h"
#include "larmor/judge/validation.h"
#include "larmor/launch/stop_signal.h"
#include "larmor/ranks/run.h"
#include "larmor/run/earlier/begun_run.h"
#include "larmor/run/earlier/trained.h"
#include "larmor/run/run_index.h"
#include "larmor/task/networks.h"
#include "larmor/track/work_report.h"
#include "larmor/watch/hang_watch.h"

#include "app/call_ranks.h"
#include "app/evaluation.h"
#include "app/program.h"

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
std::vector<std::string> arguments_for_task(std::vector<std::string> overrides) {
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
      choose_trained(folder, workload, arguments_for_task(words),
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

/// How many cases there are to judge. One rank alone need not know: the files are looked at but once then.
int64_t count_cases(const Program& program, const EvaluateArguments& arguments, const LoadedStage& loaded) {
  if (arguments.call.place.ranks == "1") return 1;
  const auto start = index_from_json(read_json(program.run_folder().index()));
  const auto judged = cases_to_judge(start, loaded.stage->found(loaded.config.config),
                                     split_named(arguments.split), names_data(program.arguments().overrides));
  return std::max<int64_t>(1, std::ssize(judged.index.of(judged.split)));
}

/// On CPUs the ranks are threads, which share what is read.
ranks::Job job_of(const Program& program, const EvaluateArguments& arguments) {
  split_named(arguments.split);
  if (!arguments.output.empty()) check_table_folder(arguments.output);
  require(arguments.columns.empty() || !arguments.by.empty(), Exit::usage, "--columns needs --by",
          "say which of its columns parts the cases");
  arguments.call.weights.choice();
  const auto folder = program.run_folder();
  const auto loaded =
      load_run_stage(folder, program.workload(workload_of(folder)), program.arguments().overrides);
  const auto& config = loaded.config.config;
  ranks::Job job{.plan = plan_call(arguments.call, config, count_cases(program, arguments, loaded))};
  using Means = ranks::Job::Means;
  if (job.plan.world_size() > 1)
    job.means = job.plan.device == DeviceKind::cpu ? Means::threads : Means::processes;
  job.hang = parse_hang_limit(config.parallel.hang_limit);
  if (job.means != Means::processes) set_up_environment(job.plan);
  return job;
}

int evaluate(Program& program, const EvaluateArguments& arguments) {
  auto job = ranks::inherited_job();
  if (!job) job = job_of(program, arguments);
  return run_on_ranks(program, *job, [&] {
    const auto evaluation = std::make_shared<const Evaluation>(read_evaluation(program, arguments));
    return [&, evaluation](ranks::LiveRank& rank) {
      const auto communicator = rank.connect_watched(job->plan);
      rank.enter(Phase::validating, evaluation->trained.checkpoint.step);
      judge(program, arguments, job->plan, *evaluation, *communicator);
    };
  });
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
