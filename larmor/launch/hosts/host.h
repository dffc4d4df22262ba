// The ranks of one host as the supervisor handles them, wherever the host is: here (local_host.h) or at the
// other end of a connection (remote_host.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "larmor/base/json.h"
#include "larmor/base/process/process.h"
#include "larmor/net/run_key.h"
#include "larmor/watch/status_board.h"

namespace larmor {

/// One process of ranks on its host.
struct RankProcess {
  int rank = 0;
  int local_index = 0;     // among the host's ranks
  std::vector<int> cores;  // to be bound to; empty: as its agent
  int ranks = 1;           // from `rank` on; several are threads of the process
  size_t agent = 0;        // of the run's agents, the one that starts it; only the leader asks
};

/// What only the leader of a training knows of a start.
struct StartTerms {
  /// Where a rank goes on: nowhere, at a checkpoint of its run by its step, or at the one that --resume
  /// names.
  static constexpr int64_t from_nothing = -1, from_the_named = -2;

  std::string run;  // the name of its folder; whoever takes it from a message has to look at it
  int64_t resume_step = from_nothing;
  int64_t began_at_ms = 0;  // since the epoch
  int64_t ends_at = 0;      // the job, in seconds since the epoch; 0: not known, or never
  bool operator==(const StartTerms&) const = default;
};

/// What the ranks of a host run. It never comes from another host: each agent says it of its own words
/// (member.h), and the hash alone travels, to be compared.
struct RankCommand {
  std::filesystem::path program = {};  // empty: this program
  std::vector<std::string> arguments = {};
  std::map<std::string, std::string> environment = {};  // besides what every rank is told (rank.h)
  std::filesystem::path log_folder = {};                // rank-N.log
  bool first_rank_speaks = false;  // what rank 0 prints goes to our stdout and stderr instead of its log
  std::string job = {};            // what ranks find in the memory file that LARMOR_JOB_FD names; "": nothing
  std::string command_hash = {};   // of what has to be the same on all hosts; "" where nobody compares
};

/// One start of the ranks, as a host is told of it.
struct GroupStart : RankCommand {
  int64_t generation = 0;
  int world_size = 1;
  int local_count = 1;             // ranks on this host, other agents' included
  std::vector<RankProcess> ranks;  // one a process
  int master_port = 0;             // of rank 0's store
  int threads_per_rank = 1;
  StartTerms terms = {};
  std::string store_nonce;  // makes the store's key of the run's; "" where ranks have no store of ours

  // Neither does what follows ever come from another host.
  std::string master_address = "127.0.0.1";
  std::optional<RunKey> store_key = {};
  int channel = -1;  // to its one rank, as LARMOR_CHANNEL_FD; -1: none
};
/// The start, without what each agent says itself.
Json to_json(const GroupStart& start);
/// Throws Error (rank_lost) or Json::exception for numbers that no start has.
GroupStart group_start_from_json(const Json& json);
/// The key of the start with that number; nothing for a start without a store of ours.
std::optional<RunKey> store_key_of(const RunKey& key, const std::string& store_nonce);

/// How a rank ended, or was lost with its host. The phase of several in one process is the first's.
struct RankEnding {
  int rank = 0;
  int ranks = 1;  // from `rank` on, which were threads of one process
  Ending ending = {};
  bool lost = false;  // with its host: nobody saw it end
  Phase phase = Phase::starting;
  int64_t step = 0;
  std::string evidence = {};    // what else is known: "the system ended it for want of memory"
  std::string last_lines = {};  // of its log
};
Json to_json(const RankEnding& ending);
RankEnding rank_ending_from_json(const Json& json);

/// One thread. A host that is lost has reported an ending for each of its ranks.
class Host {
 public:
  virtual ~Host() = default;
  /// "gpu-node-3", for people.
  virtual const std::string& name() const = 0;
  /// Starts ranks that are not running. Throws Error (environment) when that cannot be.
  virtual void start(const GroupStart& start) = 0;
  /// Sends the signal to the rank's process, for the first of its ranks; to the others of the same process
  /// nothing.
  virtual void send(int rank, int signal) = 0;
  /// What becomes readable when there is something to report.
  virtual std::vector<int> descriptors() const = 0;
  /// Ranks that have ended since the last call.
  virtual std::vector<RankEnding> take_endings() = 0;
  /// The next signal that the host's agent was sent, or 0.
  virtual int take_signal() = 0;
  /// The statuses of the ranks that run here, by rank.
  virtual std::map<int, RankStatus> statuses() = 0;
  /// "stopped by a signal", "" when nothing is known.
  virtual std::string process_state(int rank) = 0;
  /// Tells the other side that we are there, now and then.
  virtual void beat() {}
  virtual bool is_lost() const { return false; }
};

}  // namespace larmor
