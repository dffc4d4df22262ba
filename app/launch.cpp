// `launch -- CMD`: any program under our supervisor, with the environment of torchrun and our own.
#include <cstdlib>
#include <optional>
#include <utility>

#include <unistd.h>

#include "larmor/base/error.h"
#include "larmor/base/hash.h"
#include "larmor/base/text.h"
#include "larmor/comm/agent_store.h"
#include "larmor/hardware/hardware.h"
#include "larmor/launch/fleet.h"
#include "larmor/launch/restart_policy.h"
#include "larmor/watch/hang_watch.h"

#include "app/program.h"
#include "app/say.h"
#include "app/train/agent.h"

namespace larmor::app {

namespace {

struct LaunchFlags {
  PlaceFlags place = {.ranks = "auto", .device = "auto", .threads = ""};
  std::string logs = "larmor-log", hang_limit = "never";
  AgentFlags agents;
};

/// As a shell would find it.
std::filesystem::path find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return std::filesystem::absolute(name);
  const char* path = std::getenv("PATH");
  for (const auto& folder : split(path == nullptr ? "" : path, ':')) {
    const auto file = std::filesystem::path(folder) / name;
    if (access(file.c_str(), X_OK) == 0) return file;
  }
  fail(Exit::usage, text("there is no program ", name, " in PATH"),
       "give its path: larmor launch -- ./program");
}

RunConfig config_of(const LaunchFlags& flags, const Agent& agent) {
  RunConfig config;
  const auto& ranks = flags.place.ranks;
  config.parallel.ranks = ranks == "auto" && agent.given ? text(agent.given->count) : ranks;
  config.parallel.device = flags.place.device;
  config.parallel.threads = flags.place.threads_of_a_rank();
  return config;
}

/// Where its ranks run; what they do is unknown.
Plan plan_for_program(const Fleet& fleet, const Agent& agent, const LaunchFlags& flags) {
  Demand demand;
  demand.training_examples = int64_t{1} << 30;
  return make_plan(hardware_of(fleet), demand, config_of(flags, agent));
}

/// Without a word none: only the program knows what another start of it would do.
int64_t most_restarts(const LaunchFlags& flags) { return flags.agents.max_restarts.value_or(0); }

/// Of this host's own words; logs lie where this host was told to put them.
RankCommand command_of(const Program& program, const LaunchFlags& flags) {
  const auto& words = program.arguments().command;
  RankCommand command;
  command.program = find_program(words.front());
  command.arguments.assign(words.begin() + 1, words.end());
  command.environment["TORCHELASTIC_USE_AGENT_STORE"] = "True";
  command.environment["TORCHELASTIC_MAX_RESTARTS"] = text(most_restarts(flags));
  command.log_folder = std::filesystem::absolute(flags.logs);
  command.first_rank_speaks = true;
  command.command_hash = sha256(Json(words).dump(-1, ' ', false, Json::error_handler_t::replace));
  return command;
}

LaunchOptions options_for(const Program& program, const LaunchFlags& flags, const Agent& agent) {
  LaunchOptions launch{command_of(program, flags)};
  launch.console = false;
  launch.hang = parse_hang_limit(flags.hang_limit);
  launch.master_address = agent.place.master_address;
  return launch;
}

int run_program(Program& program, const LaunchFlags& flags, Agent& agent, Fleet& fleet) {
  LaunchOptions launch = options_for(program, flags, agent);
  const Plan plan = plan_for_program(fleet, agent, flags);
  // What it does with fewer ranks is its own affair.
  RestartPolicy policy({.most_restarts = most_restarts(flags), .least_ranks = 0}, -1);
  for (;; ++launch.generation) {
    // c10d counts the workers that have come to a store, and does not forget those of an earlier start.
    const HostedStore store(agent.place.master_address);
    launch.master_port = store.port();
    const auto agents = std::ssize(fleet.agents());
    GroupEnding ending = fleet.run(plan, launch);
    const bool failed = ending.exit != Exit::done && ending.exit != Exit::stopped;
    // Its statuses are its own, and so is what it calls progress.
    if (failed) ending.exit = Exit::unexpected;
    const auto next = policy.decide(ending, {.plan = plan,
                                             .committed_step = launch.generation,
                                             .agents_before = agents,
                                             .agents_left = std::ssize(fleet.agents())});
    if (failed) {
      say(text("larmor: ", next.ending.message,
               next.again ? text("; restart ", policy.restarts(), " of ", most_restarts(flags)) : ""));
    }
    if (next.again) continue;
    if (failed) say_last_lines(ending.last_lines);
    if (failed) say(text("  hint: the ranks' logs are in ", launch.log_folder.string()));
    return failed && ending.rank_status != 0 ? ending.rank_status : ending.raw_status;
  }
}

int launch(Program& program, const LaunchFlags& flags) {
  program.refuse_overrides();
  const auto& command = program.arguments().command;
  if (command.empty())
    fail(Exit::usage, "no program to launch", "larmor launch --ranks 2 -- python3 train.py --its-own flags");
  find_program(command.front());
  Agent agent = find_agent(flags.agents, given_rank(flags.agents));
  Introduction introduction;
  introduction.words = {{"command", join(command, " ")},
                        {"--ranks", flags.place.ranks},
                        {"--device", flags.place.device},
                        {"--threads", flags.place.threads}};
  if (!agent.is_alone()) introduction.hardware = to_json(detect_hardware());
  if (!agent.place.leads()) {
    return follow(agent, std::move(introduction),
                  [&](const StartTerms&) { return command_of(program, flags); });
  }
  Fleet fleet = assemble(agent, std::move(introduction));
  try {
    const int status = run_program(program, flags, agent, fleet);
    fleet.dismiss(status, "");
    return status;
  } catch (const Error& error) {
    fleet.dismiss(static_cast<int>(error.exit()), error.message());
    throw;
  }
}

}  // namespace

void add_launch(Program& program) {
  const auto flags = std::make_shared<LaunchFlags>();
  auto& verb =
      program.add_verb("launch", "start any program as ranks, watch it, start it again: launch -- CMD",
                       [&program, flags] { return launch(program, *flags); });
  add_place_flags(verb, flags->place);
  verb.add_option("--logs", flags->logs, "folder of launcher.log and rank-N.log (larmor-log)");
  verb.add_option("--hang-limit", flags->hang_limit,
                  "time without a heartbeat, for programs that use larmor's library (never)");
  add_agent_flags(verb, flags->agents);
}

}  // namespace larmor::app
