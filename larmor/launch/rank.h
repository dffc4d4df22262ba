// Who this process is among the processes of a run, and which environment said so.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "larmor/plan/plan.h"

namespace larmor {

struct Rank {
  int index = 0;
  int count = 1;
  int local_index = 0;  // on this host
  int local_count = 1;
  std::string master_address = "127.0.0.1";
  int master_port = 0;
  int store_descriptor = -1;       // rank 0 under our launcher: the listening socket of the store
  int store_key_descriptor = -1;   // under our launcher: the key of its store (run_key.h); -1: an open store
  bool agent_hosts_store = false;  // torchrun's agent, or `larmor launch`: rank 0 is a client too
  int64_t generation = 0;          // restarts so far; part of every store key
  std::string launcher;            // "larmor", "torchrun", "slurm", "mpi", "pmi"
  int console_out = -1;            // rank 0 under our launcher: the launcher's stdout and stderr,
  int console_error = -1;          // because its own go to its log file; -1 = use its own
  int job_descriptor = -1;         // under our launcher: what it has decided (ranks/job.h); -1: nothing
  int channel_descriptor = -1;     // to who deals out work to it (ranks/deal.h); -1: nobody
  int visible_device = -1;         // the GPU of its own view where each rank of the host sees only its own;
                                   // -1: all see the same, and local_index counts
};

/// The GPU that the plan gives to the rank, as its process counts them; -1 on a CPU.
int device_index(const Rank& rank, const Plan& plan);

/// Environment variables by name.
using Environment = std::map<std::string, std::string>;
Environment process_environment();

/// Finds the rank in the environment. The innermost launcher speaks, in this order:
///   ours: LARMOR_RANK, LARMOR_WORLD_SIZE, LARMOR_LOCAL_RANK, LARMOR_LOCAL_WORLD_SIZE, LARMOR_MASTER_ADDR,
///     LARMOR_MASTER_PORT, LARMOR_GENERATION and, where they apply, the descriptors LARMOR_STORE_FD,
///     LARMOR_STORE_KEY_FD, LARMOR_CONSOLE_OUT, LARMOR_CONSOLE_ERR, LARMOR_JOB_FD, LARMOR_CHANNEL_FD (and
///     LARMOR_STATUS_FD, see status_board.h);
///   torchrun: RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE (may be missing), MASTER_ADDR, MASTER_PORT,
///     TORCHELASTIC_RESTART_COUNT, TORCHELASTIC_USE_AGENT_STORE;
///   mpirun and its kin: OMPI_COMM_WORLD_RANK, _SIZE, _LOCAL_RANK, _LOCAL_SIZE, or MV2_COMM_WORLD_…, or
///     PMI_RANK, PMI_SIZE, MPI_LOCALRANKID, MPI_LOCALNRANKS. The master is MASTER_ADDR and MASTER_PORT; where
///     all ranks are on this host, loopback and a port made of the job's name;
///   srun: the variables of the step (slurm_step.h). The master is the step's first host with a port made of
///     job and step, unless MASTER_ADDR or MASTER_PORT say otherwise.
/// A step or an mpirun of one task makes no rank, and neither does a batch script, MASTER_ADDR alone, or
/// NODE_RANK: such a process starts its own ranks. RANK and its kin without TORCHELASTIC_RUN_ID were exported
/// by hand, and have to agree with the step or the mpirun around them. Throws Error (usage) when variables
/// are missing, malformed, or disagree, naming both values.
std::optional<Rank> find_rank(const Environment& environment);

}  // namespace larmor
