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
  int local_index = 0;  // on this host
  int local_count = 1;
  std::string master_address = "127.0.0.1";
  int master_port = 0;
  int store_descriptor = -1;       // rank 0 under our launcher: the listening socket of the store
  bool agent_hosts_store = false;  // torchrun's agent: rank 0 is a client too
  int64_t generation = 0;          // restarts so far; part of every store key
  std::string launcher;            // "larmor", "torchrun", "none"
  int console_out = -1;            // rank 0 under our launcher: the launcher's stdout and stderr,
  int console_error = -1;          // because its own go to its log file; -1 = use its own
};

/// Environment variables by name.
using Environment = std::map<std::string, std::string>;
Environment process_environment();

/// Finds the rank in the environment, in this order of trust:
///   our launcher's LARMOR_RANK, LARMOR_WORLD_SIZE, LARMOR_LOCAL_RANK, LARMOR_LOCAL_WORLD_SIZE,
///     LARMOR_MASTER_ADDR, LARMOR_MASTER_PORT, LARMOR_GENERATION and, where they apply, the descriptors
///     LARMOR_STORE_FD, LARMOR_CONSOLE_OUT, LARMOR_CONSOLE_ERR (and LARMOR_STATUS_FD, see status_board.h);
///   torchrun's RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE (may be missing), MASTER_ADDR, MASTER_PORT,
///     TORCHELASTIC_RESTART_COUNT, TORCHELASTIC_USE_AGENT_STORE.
/// Nothing when this process was not started as a rank; MASTER_ADDR and MASTER_PORT alone make none.
/// Throws Error (usage) when variables are missing or malformed, when two sources disagree (naming both
/// values), and when srun or mpirun started several of us without one of the two launchers above: they
/// would be as many separate runs.
std::optional<Rank> find_rank(const Environment& environment);

}  // namespace larmor
