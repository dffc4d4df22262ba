// Who this process is among the processes of a run, and which environment said so.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace larmor {

struct Rank {
  int index = 0;
  int count = 1;
  int local_index = 0;         // on this host
  int local_count = 1;
  std::string master_address = "127.0.0.1";
  int master_port = 0;
  int store_descriptor = -1;   // rank 0 under our launcher: the listening socket of the store
  bool agent_hosts_store = false;  // torchrun's agent: rank 0 is a client too
  int64_t generation = 0;      // restarts so far; part of every store key
  std::string launcher;        // "larmor", "torchrun", "none"
};

/// Environment variables by name.
using Environment = std::map<std::string, std::string>;
Environment process_environment();

/// Finds the rank in the environment, in this order of trust: our launcher's variables (LARMOR_RANK …),
/// torchrun's (RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT). Nothing when this process was
/// not started as a rank. Throws Error (usage) when variables are missing, malformed, or when two sources
/// disagree (naming both values).
std::optional<Rank> find_rank(const Environment& environment);

}  // namespace larmor
