#include "app/train/train_stages.h"

#include <optional>
#include <string>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

#include "app/say.h"
#include "app/stage_chain.h"
#include "app/train/agent.h"

namespace larmor::app {

namespace {

void refuse_flags(const TrainFlags& flags) {
  const auto refuse = [](const char* flag, const char* remedy) {
    fail(Exit::usage, text(flag, " and --stage all do not go together"), remedy);
  };
  if (flags.resume != "auto") refuse("--resume", "name one stage; without it each goes on where it was");
}

/// A chain that several agents train is one: none of them can know what name another one would make.
ChainJob job_of(const TrainFlags& flags, const std::optional<Rank>& given) {
  const auto agent = find_agent(flags.agents, given);
  return {.id = agent.job.id, .again = agent.job.restarts > 0, .is_of_hosts = !agent.is_alone()};
}

int train_stages(const VerbArguments& asked, const TrainFlags& flags, const Workload& workload,
                 StageChain& chain, const std::function<int()>& train_stage) {
  const auto tell = [&](const std::string& line) {
    if (!asked.quiet) say(line);
  };
  const auto stages = workload.stages();
  const auto first = chain.first_to_train();
  bool is_before = true;
  for (size_t i = 0; i < stages.size(); ++i) {
    const auto folder = chain.begin(stages[i]);
    is_before = is_before && stages[i] != first;
    tell(text("stage ", i + 1, " of ", stages.size(), ": ", stages[i], " (", folder.root.string(), ")"));
    if (is_before && !folder.is_done()) {
      tell(text(folder.root.string(), folder.is_run() ? " is not over" : " is not there any more",
                ", and need not be: the run of the stage ", first, " has kept what it needs of it"));
      continue;
    }
    const int status = train_stage();
    // On another host than the one that leads, the end may be seen later than it is told of.
    if (status == 0 && (!flags.steps || folder.is_done())) continue;
    tell(text("ended in stage ", i + 1, " of ", stages.size(), ": ", stages[i],
              "; the same command with run.name=", chain.name(), " goes on there"));
    return status;
  }
  return 0;
}

}  // namespace

int train_every_stage(Program& program, const TrainFlags& flags, const std::optional<Rank>& given,
                      const std::function<int()>& train_stage, const std::function<int()>& look_at_stage) {
  refuse_flags(flags);
  const auto& workload = program.workload(program.arguments().target);
  // A fault of the last stage would otherwise show when all others have been trained.
  check_each_stage(program, workload, look_at_stage);
  const auto asked = program.arguments();
  StageChain chain(program, workload, StageChain::Runs::made, job_of(flags, given));
  program.keep_shown();
  const int status = train_stages(asked, flags, workload, chain, train_stage);
  program.show_kept();
  return status;
}

}  // namespace larmor::app
