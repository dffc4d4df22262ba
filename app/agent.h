// Who starts the ranks: this process is an agent, alone, one of several of ours (--nnodes), or in a rank's
// place that another launcher gave it. The first of them leads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "larmor/base/json.h"
#include "larmor/launch/gathering.h"
#include "larmor/launch/job.h"
#include "larmor/launch/rank.h"
#include "larmor/launch/socket.h"

namespace larmor::app {

/// Flags of `train` and `launch` about the processes of a run.
struct AgentFlags {
  std::string nodes;  // a count, or auto: as SLURM's step says
  std::optional<int> node_rank;
  std::string master_address;
  std::optional<int> master_port;
  int64_t max_restarts = 0;
  int64_t min_ranks = 0;  // 0: never fewer than at the start
};

struct Agent {
  AgentPlace place;
  std::optional<Rank> given;  // by another launcher: the one rank that is ours to start
  Job job;

  bool is_alone() const { return place.agents == 1; }
};

/// By the flags and the environment. Throws Error (usage) when they contradict each other or say too little.
Agent find_agent(const AgentFlags& flags, const std::optional<Rank>& given);

/// What this agent says of itself; `words` is what it was asked to do, value by key.
Hello introduce(const Agent& agent, Json words, Json hardware);

/// Where the leader listens, known to the members from then on; and for a member the way there.
Listener open_door(Agent& agent);
void find_door(Agent& agent);

void add_agent_flags(CLI::App& verb, AgentFlags& flags);

/// A rank's start limit, and the agents': LARMOR_START_LIMIT.
std::chrono::milliseconds start_limit();

}  // namespace larmor::app
