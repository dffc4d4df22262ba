// The ranks that this process starts itself.
#pragma once

#include <optional>

#include "larmor/base/process/descriptor.h"
#include "larmor/launch/hosts/host.h"
#include "larmor/launch/signal_pipe.h"
#include "larmor/net/socket.h"
#include "larmor/watch/memory_kills.h"

namespace larmor {

/// Ranks die with this process, even by SIGKILL: make it in a thread that outlives them. Binds them to their
/// cores, sets OMP_NUM_THREADS and MKL_NUM_THREADS and the variables of rank.h, under our names and under
/// torchrun's; the store's key is in a memory file that they inherit (LARMOR_STORE_KEY_FD). What rank N
/// prints goes to log_folder/rank-N.log, of several in one process the first's. They inherit a memory file
/// with what GroupStart::job says (LARMOR_JOB_FD).
class LocalHost final : public Host {
 public:
  /// `console`: rank 0 may speak to our stdout and stderr, which it finds as the descriptors
  /// LARMOR_CONSOLE_OUT and LARMOR_CONSOLE_ERR. `environment` is for the ranks of this host alone. Borrows
  /// the signals; null: somebody else hears them.
  LocalHost(SignalPipe* signals, bool console, std::map<std::string, std::string> environment = {});

  /// Listens at that address for the store of the next start's rank 0, which inherits the socket
  /// (LARMOR_STORE_FD). The port.
  int open_store(const std::string& address);

  const std::string& name() const override { return name_; }
  void start(const GroupStart& start) override;
  void send(int rank, int signal) override;
  std::vector<int> descriptors() const override;
  std::vector<RankEnding> take_endings() override;
  int take_signal() override { return signals_ == nullptr ? 0 : signals_->take(); }
  std::map<int, RankStatus> statuses() override;
  std::string process_state(int rank) override;

  /// Nothing while it runs, or when it is not one of ours.
  std::optional<pid_t> process_of(int rank) const;

 private:
  struct Started {
    Process process;
    std::filesystem::path log;
    uint64_t log_start = 0;  // bytes that earlier starts wrote
    int ranks = 1;           // its threads, from its own rank on
  };
  ProcessOptions options_for(const GroupStart& start, const RankProcess& place) const;
  Started start_rank(const GroupStart& start, const RankProcess& place) const;
  /// Null where none of ours is that rank's.
  const Started* started_for(int rank) const;
  RankEnding ending_of(int rank, const Started& started, const Ending& ending) const;

  SignalPipe* signals_;
  std::string name_;
  std::map<std::string, std::string> environment_;
  std::optional<Listener> store_;
  Descriptor store_key_, job_;  // while ranks are being started
  std::optional<StatusBoard> board_;
  std::optional<MemoryKills> memory_kills_;
  Descriptor nothing_;                      // what ranks read from: a terminal would stop them
  Descriptor console_out_, console_error_;  // closed when rank 0 may not speak
  std::map<int, Started> running_;          // by their first rank
};

}  // namespace larmor
