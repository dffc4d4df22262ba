// Who starts the ranks: this process is an agent, alone, one of several of ours (--nnodes), or in a rank's
// place that another launcher gave it. The first of them leads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "larmor/base/json.h"
#include "larmor/hardware/hardware.h"
#include "larmor/launch/fleet.h"
#include "larmor/launch/gathering.h"
#include "larmor/launch/job.h"
#include "larmor/launch/rank.h"

namespace larmor::app {

/// Flags of `train` and `launch` about the processes of a run.
struct AgentFlags {
  std::string nodes;  // a count, or auto: as SLURM's step says
  std::optional<int> node_rank;
  std::string master_address;
  std::optional<int> master_port;
  std::optional<int64_t> max_restarts;  // nothing: as the verb has it
  int64_t min_ranks = 0;                // 0: never fewer than at the start
};

struct Agent {
  AgentPlace place;
  std::optional<Rank> given;  // by another launcher: the one rank that is ours to start
  Job job;
  std::string stage = {};  // that its agents meet for: those of a chain meet once for each

  bool is_alone() const { return place.agents == 1; }
};

/// The rank that the environment makes of this process. The tasks of an srun or an mpirun are none where
/// --nnodes says that they are hosts.
std::optional<Rank> given_rank(const AgentFlags& flags);
/// The agent, by the flags and the environment. Throws Error (usage) when they contradict each other or say
/// too little.
Agent find_agent(const AgentFlags& flags, const std::optional<Rank>& given);

/// What an agent says of itself: what it was asked to do, value by key, and what its host offers. The agents
/// of a start find their key below `run_folder` (net/key_file.h), or where LARMOR_RUN_KEY_FILE says;
/// without both several are refused (usage).
struct Introduction {
  Json words, hardware;
  std::optional<std::filesystem::path> run_folder;
};

/// The leader's hosts: waits for the other agents, if there are any. Throws what gather() throws.
Fleet assemble(Agent& agent, Introduction introduction);
/// What the hosts of its agents offer together.
Hardware hardware_of(const Fleet& fleet);

using MakeCommand = std::function<RankCommand(const StartTerms&)>;

/// A member starts its command as the leader says, until that one ends the run; the exit status.
int follow(Agent& agent, Introduction introduction, const MakeCommand& make_command);

void add_agent_flags(CLI::App& verb, AgentFlags& flags);

/// A rank's start limit, and the agents': LARMOR_START_LIMIT.
std::chrono::milliseconds start_limit();

}  // namespace larmor::app
