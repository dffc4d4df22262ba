// `train`: an agent prepares a run and has its ranks started; a process that was started as a rank trains.
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "larmor/base/clock.h"
#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/hardware/hardware.h"
#include "larmor/launch/rank.h"
#include "larmor/run/earlier/begun_run.h"
#include "larmor/run/machine.h"
#include "larmor/run/run_setup.h"
#include "larmor/train/time_left.h"

#include "app/program.h"
#include "app/show_draft.h"
#include "app/stage_chain.h"
#include "app/train/lead.h"
#include "app/train/sender_line.h"
#include "app/train/train_flags.h"
#include "app/train/train_rank.h"
#include "app/train/train_stages.h"
#include "app/train/trial.h"

namespace larmor::app {

namespace {

/// Another launcher's ranks are processes.
void refuse_threads(const RunConfig& config, const std::optional<Rank>& given) {
  if (config.parallel.strategy != "dp" || !given || given->count == 1) return;
  fail(Exit::usage,
       text("parallel.strategy dp is one process with a thread for each rank, but ", given->launcher,
            " has started ", given->count, " processes"),
       "parallel.strategy=ddp; or start one larmor, which starts the threads");
}

/// What so many hosts offer, if they are as this one; nothing for one.
std::optional<Hardware> hosts_like_this(int count) {
  if (count == 1) return std::nullopt;
  std::vector<Hardware> all(static_cast<size_t>(count), detect_machine());
  for (size_t i = 0; i < all.size(); ++i) all[i].host = text(all[i].host, " (", i, ")");
  return shared_hardware(all);
}

int train_as_agent(Program& program, const TrainFlags& flags, const std::optional<Rank>& given) {
  auto& words = program.arguments();
  if (given && words.place.ranks.empty()) words.overrides.push_back(text("parallel.ranks=", given->count));
  const bool is_new = program.is_workload(words.target);
  const auto existing = is_new ? std::nullopt : std::optional(program.run_folder());
  const auto& workload = program.workload(existing ? workload_of(*existing) : words.target);
  // Every agent checks the words that it was given before a port is touched.
  auto loaded = existing ? load_run_stage(*existing, workload, words.overrides) : program.load(workload);
  if (existing) refuse_other_launch(loaded.config, process_environment());
  refuse_past_stop(loaded.config.config.train.stop_before, SystemClock());
  refuse_threads(loaded.config.config, given);
  check_services(loaded.config.config.track);
  if (flags.dry_run) {
    const auto draft = draft_run(
        loaded, given ? std::nullopt : hosts_like_this(find_agent(flags.agents, given).place.agents));
    check_begun(workload, loaded, draft.index);
    const auto& config = loaded.config.config;
    show_draft(program, draft, loaded.config,
               DraftPlace{.folder = existing ? *existing : folder_to_be(config),
                          .goes_on_without_room = flags.no_check});
    return 0;
  }
  Agent agent = find_agent(flags.agents, given);
  agent.stage = loaded.config.config.stage;
  const bool leads = agent.place.leads();
  TrainRequest request{program, flags, workload, std::move(loaded), existing};
  return leads ? lead(std::move(request), std::move(agent)) : follow(request, std::move(agent));
}

}  // namespace

ResumeChoice TrainFlags::resume_choice() const {
  if (resume == "auto") return {};
  if (resume == "never") return {.kind = ResumeChoice::Kind::never, .path = {}};
  const auto near = nearest(resume, std::vector<std::string>{"auto", "never"});
  if (!near.empty() && !std::filesystem::exists(resume))
    fail(Exit::usage, text("--resume ", resume, " is no checkpoint"), text("did you mean ", near, "?"));
  return {.kind = ResumeChoice::Kind::path, .path = resume};
}

void add_train(Program& program) {
  const auto flags = std::make_shared<TrainFlags>();
  auto& verb = program.add_workload_or_run_verb(
      "train", "train a workload, or go on with a run",
      [&program, flags] {
        const auto rank = given_rank(flags->agents);
        if (rank && rank->launcher == "larmor") return train_as_rank(program, *flags, *rank);
        if (flags->tries) return try_training(program, *flags);
        if (!asks_for_every_stage(program.arguments())) return train_as_agent(program, *flags, rank);
        const auto train = [&] { return train_as_agent(program, *flags, rank); };
        const auto& workload = program.workload(program.arguments().target);
        if (flags->dry_run) return act_for_each_stage(program, workload, train);
        auto look = *flags;
        look.dry_run = true;
        look.no_check = true;  // of runs that are there already much of the room is taken by their own
        return train_every_stage(program, *flags, rank, train,
                                 [&] { return train_as_agent(program, look, rank); });
      },
      {.stages = WorkloadVerb::Stages::own});
  verb.add_option("--resume", flags->resume, "auto, never, or a checkpoint folder");
  verb.add_option("--steps", flags->steps, "stop after this global step, with a checkpoint")
      ->check(at_least(1));
  verb.add_option("--cases", flags->cases, "learn from so many cases alone, and judge by four at most")
      ->check(at_least(1));
  verb.add_flag("--try", flags->tries,
                "every phase once on a few cases in a minute, and what the whole run will take");
  verb.add_flag("--dry-run", flags->dry_run, "show the plan and stop");
  verb.add_flag(
      "--no-check", flags->no_check,
      "neither try a validation before the first step of a new run nor refuse a disk that lacks room");
  verb.add_flag("--accept-config", flags->accept_config, "go on with a config.yaml that was edited");
  verb.add_flag("--verbose", flags->verbose, "log everything to stderr");
  add_agent_flags(verb, flags->agents);
}

}  // namespace larmor::app
