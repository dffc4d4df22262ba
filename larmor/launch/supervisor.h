// Watches the ranks of a run on all its hosts until all have ended, and tells which one was the reason.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "larmor/base/clock.h"
#include "larmor/launch/group_ending.h"
#include "larmor/launch/hosts/host.h"
#include "larmor/launch/launcher_log.h"
#include "larmor/watch/hang_watch.h"
#include "larmor/watch/slow_watch.h"

namespace larmor {

struct SupervisorOptions {
  double grace_seconds = 20;        // from the end of the first rank to the killing of the others
  bool asks_starting_ranks = true;  // LaunchOptions'
  HangLimits hang;                  // what counts as one
  std::filesystem::path hang_file;  // what is left of one; empty: nothing
};

/// One thread. Borrows the hosts, the log and the clock.
class Supervisor {
 public:
  /// hosts[host_of_rank[r]] runs rank r.
  Supervisor(std::vector<Host*> hosts, std::vector<size_t> host_of_rank, LauncherLog& log,
             const SupervisorOptions& options, Clock& clock = system_clock());
  /// Blocks until every rank has ended.
  GroupEnding run();

  /// What run() does between two waits: takes what the hosts report, and does what is due.
  void step();
  /// Whether every rank has ended.
  bool is_over() const;
  /// Requires: it is over.
  GroupEnding ending() const;

 private:
  /// The end of a hanging group, step by step.
  enum class HangStage { none, stacks_asked, woken, killed };

  void wait_for_events();
  void take_signals();
  void take_signal_of(size_t host, int signal);
  void take_endings();
  void wait_for_signal_of(const RankEnding& how);
  void look_at_ranks(double now);
  void end_hang(double now);
  /// A process that stands still is the reason of a hang, even where one that waits for it was quiet first:
  /// ranks that start meet in ways that no board shows.
  void blame_stopped(const std::vector<RankStatus>& ranks);
  std::string process_state(size_t rank) const;
  void end_others();
  /// Those that are in the phase of the start, or beyond it.
  std::vector<size_t> running_ranks(bool starting);
  void tell_of_loss(double now);
  void end_overdue();
  void send(size_t rank, int signal);
  void send_all(int signal);
  std::optional<GroupEnding> asked_ending() const;

  std::vector<Host*> hosts_;
  std::vector<size_t> host_of_rank_;
  std::vector<std::optional<Death>> deaths_;
  std::vector<std::set<int>> sent_;  // signals that each rank got from us
  LauncherLog& log_;
  SupervisorOptions options_;
  Clock& clock_;
  HangWatch hang_watch_;
  SlowWatch slow_watch_;
  std::optional<double> asked_;     // when the rest was asked to end, after the first had
  std::optional<double> deadline_;  // when the rest is killed
  bool has_told_ = false;           // the rest, that collectives are in vain
  double looked_ = 0, beaten_ = 0;  // steady seconds
  std::optional<Hang> hang_;
  HangStage hang_stage_ = HangStage::none;
  double hang_next_ = 0;  // when the next stage is due
  int round_ = 0;
  bool ended_early_ = false;  // the first signal met a rank that did not watch for it yet
  int first_signal_ = 0;
  int second_signal_ = 0;
  std::set<size_t> signalled_hosts_;
};

}  // namespace larmor
