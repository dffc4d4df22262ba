// `train`: the parent prepares a run and starts its ranks; a process that was started as a rank trains.
#include <iostream>

#include <unistd.h>

#include "larmor/base/clock.h"
#include "larmor/base/error.h"
#include "larmor/base/log.h"
#include "larmor/base/process.h"
#include "larmor/base/text.h"
#include "larmor/launch/launcher.h"
#include "larmor/launch/rank.h"
#include "larmor/train/run_setup.h"

#include "app/program.h"
#include "app/train_end.h"
#include "app/train_rank.h"

namespace larmor::app {

namespace {

// A flag is a key under another name; both at once is a duplicate that load_config refuses.
void flags_to_overrides(const TrainFlags& flags, Words& words) {
  if (!flags.ranks.empty()) words.overrides.push_back("parallel.ranks=" + flags.ranks);
  if (!flags.device.empty()) words.overrides.push_back("parallel.device=" + flags.device);
}

std::vector<std::string> rank_arguments(const PreparedRun& run, const TrainFlags& flags, const Words& words) {
  std::vector<std::string> arguments{"train", run.folder.root.string()};
  arguments.emplace_back("--resume");
  arguments.push_back(run.resume_from ? run.resume_from->folder.string() : "never");
  if (flags.steps) {
    arguments.emplace_back("--steps");
    arguments.push_back(text(*flags.steps));
  }
  if (words.quiet) arguments.emplace_back("--quiet");
  if (words.no_color) arguments.emplace_back("--no-color");
  if (words.json) arguments.emplace_back("--json");
  if (flags.debug) arguments.emplace_back("--debug");
  return arguments;
}

void say(const Words& words, const std::string& lines) {
  if (!words.quiet) std::cerr << lines << std::flush;
}

// What the group's end means for the run folder and for the caller.
int conclude(const Program& program, const PreparedRun& run, const GroupEnding& ending, Storage& storage) {
  const bool is_stopped = ending.raw_status == static_cast<int>(Exit::stopped);
  if (ending.exit == Exit::done || is_stopped) {
    return conclude_training(program, run.folder, run.config.config.checkpoint.metric, ending.exit, storage);
  }
  std::cerr << "larmor: " << ending.message << "\n";
  if (!ending.last_lines.empty()) std::cerr << "  its last lines:\n" << ending.last_lines << "\n";
  std::cerr << "  hint: the log is in " << run.folder.logs().string() << "; larmor train "
            << run.folder.root.string() << " goes on from the newest checkpoint\n";
  if (ending.exit == Exit::stopped) return ending.raw_status;  // asked for: no failure of the run
  try {
    mark_ended(storage, SystemClock(), run.folder, ending.raw_status, ending.message);
  } catch (const Error& error) {
    std::cerr << "  and " << error.message() << "\n";
  }
  return ending.raw_status;
}

GroupEnding launch_ranks(const PreparedRun& run, const TrainFlags& flags, const Words& words) {
  if (run.resume_from)
    say(words,
        text("resuming from step ", run.resume_from->step, " (", run.resume_from->folder.string(), ")\n"));
  LaunchOptions launch;
  launch.program = own_program();
  launch.arguments = rank_arguments(run, flags, words);
  launch.log_folder = run.folder.logs();
  launch.generation = run.generation;
  return run_ranks(run.plan, launch);
}

int start_run(Program& program, const TrainFlags& flags) {
  const auto& words = program.words();
  std::optional<RunFolder> existing;
  Workload* workload = nullptr;
  std::optional<LoadedConfig> config;
  if (program.is_workload(words.target)) {
    workload = &program.workload(words.target);
    config = program.load(*workload);
  } else {
    existing = program.run_folder();
    workload = &program.workload(workload_of(*existing));
    config = load_run_config(*existing, *workload, words.overrides);
  }
  if (flags.dry_run) {
    const auto draft = draft_run(*workload, *config);
    program.show(to_json(draft.plan), explain(draft.plan, draft.hardware));
    return 0;
  }
  const auto storage = make_storage();
  const SystemClock clock;
  std::optional<PreparedRun> run =
      prepare_run(*workload, std::move(*config), existing, flags.resume_choice(), *storage, clock);
  for (const auto& note : run->notes) say(words, note + "\n");
  if (run->already_done) {
    say(words, run->folder.root.string() + " is finished already\n");
    show_run(program, run->folder, run->config.config.checkpoint.metric, "done");
    return 0;
  }
  say(words, explain(run->plan, run->hardware) + run->index.patients_by + "\n");
  auto ending = launch_ranks(*run, flags, words);
  while (ending.exit == Exit::memory && plan_smaller_micro_batches(run->folder, *storage)) {
    say(words, text("larmor: ", ending.message, "; starting again with smaller micro-batches\n"));
    const RunFolder folder = run->folder;
    run.reset();  // and its lock, which prepare_run() takes
    run.emplace(prepare_run(*workload, load_run_config(folder, *workload), folder, {}, *storage, clock));
    ending = launch_ranks(*run, flags, words);
  }
  return conclude(program, *run, ending, *storage);
}

}  // namespace

ResumeChoice TrainFlags::resume_choice() const {
  if (resume == "auto") return {};
  if (resume == "never") return {.kind = ResumeChoice::Kind::never, .path = {}};
  return {.kind = ResumeChoice::Kind::path, .path = resume};
}

void add_train(Program& program) {
  const auto flags = std::make_shared<TrainFlags>();
  auto& verb =
      program.add_workload_or_run_verb("train", "train a workload, or go on with a run", [&program, flags] {
        const auto rank = find_rank(process_environment());
        if (rank && rank->launcher == "larmor") return train_as_rank(program, *flags, *rank);
        flags_to_overrides(*flags, program.words());
        if (rank) return train_as_adopted_rank(program, *flags, *rank);
        return start_run(program, *flags);
      });
  verb.add_option("--ranks", flags->ranks, "how many processes, auto, or a list of devices");
  verb.add_option("--device", flags->device, "auto, cpu or cuda");
  verb.add_option("--resume", flags->resume, "auto, never, or a checkpoint folder");
  verb.add_option("--steps", flags->steps, "stop after this global step, with a checkpoint")
      ->check(CLI::PositiveNumber);
  verb.add_flag("--dry-run", flags->dry_run, "show the plan and stop");
  verb.add_flag("--debug", flags->debug, "log everything to stderr");
}

}  // namespace larmor::app
