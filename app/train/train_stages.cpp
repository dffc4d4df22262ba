#include "app/train/train_stages.h"

#include <string>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

#include "app/say.h"
#include "app/stage_chain.h"

namespace larmor::app {

namespace {

void refuse_flags(const TrainFlags& flags) {
  const auto refuse = [](const char* flag, const char* remedy) {
    fail(Exit::usage, text(flag, " and --stage all do not go together"), remedy);
  };
  if (flags.resume != "auto") refuse("--resume", "name one stage; without it each goes on where it was");
  if (!flags.agents.nodes.empty())
    refuse("--nnodes", "train the stages one by one, each with from.<stage>=RUN");
}

int train_stages(const VerbArguments& asked, const Workload& workload, StageChain& chain,
                 const std::function<int()>& train_stage) {
  const auto tell = [&](const std::string& line) {
    if (!asked.quiet) say(line);
  };
  const auto stages = workload.stages();
  for (size_t i = 0; i < stages.size(); ++i) {
    const auto folder = chain.begin(stages[i]);
    tell(text("stage ", i + 1, " of ", stages.size(), ": ", stages[i], " (", folder.root.string(), ")"));
    const int status = train_stage();
    if (status == 0 && folder.is_done()) continue;
    tell(text("ended in stage ", i + 1, " of ", stages.size(), ": ", stages[i],
              "; the same command with run.name=", chain.name(), " goes on there"));
    return status;
  }
  return 0;
}

}  // namespace

int train_every_stage(Program& program, const TrainFlags& flags, const std::function<int()>& train_stage,
                      const std::function<int()>& look_at_stage) {
  refuse_flags(flags);
  const auto& workload = program.workload(program.arguments().target);
  // A fault of the last stage would otherwise show when all others have been trained.
  check_each_stage(program, workload, look_at_stage);
  const auto asked = program.arguments();
  StageChain chain(program, workload, StageChain::Runs::made);
  program.keep_shown();
  const int status = train_stages(asked, workload, chain, train_stage);
  program.show_kept();
  return status;
}

}  // namespace larmor::app
