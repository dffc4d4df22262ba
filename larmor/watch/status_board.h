// Memory shared by an agent and its ranks: what each rank is doing. It dies with them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "larmor/base/process/descriptor.h"
#include "larmor/watch/rank_cell.h"
#include "larmor/watch/rank_status.h"

namespace larmor {

/// Thread-safe. A rank writes its own cell, the agent reads all. Writing takes no lock and no memory. Times
/// come from the monotonic clock, which the processes of a host share.
class StatusBoard {
 public:
  /// The agent makes one for `ranks` ranks: all of the run, of which it fills those of its host.
  explicit StatusBoard(int ranks);
  /// A rank opens the one that its environment names (LARMOR_STATUS_FD); private memory when there is none.
  /// Throws Error (usage) when the variable names something else than a board for so many ranks.
  static StatusBoard from_environment(int rank, int ranks);
  ~StatusBoard();
  StatusBoard(StatusBoard&& other) noexcept;
  StatusBoard& operator=(StatusBoard&&) = delete;

  /// What the agent hands to its ranks; -1 in a rank.
  int descriptor() const { return shared_.number(); }

  /// Writes a new phase or step, which counts as a heartbeat. One thread of a rank: the one that trains.
  void set(int rank, Phase phase, int64_t step);
  /// A heartbeat within the phase. Call it only where something was achieved: it hides a hang.
  void beat(int rank);
  /// Shows a heartbeat from a thread beside the training one, which only helps it in that phase: otherwise
  /// nothing.
  void beat(int rank, Phase during);

  using Ticket = CollectiveRing::Ticket;
  /// A collective is begun (`finished` is not looked at) and, once its wait has returned, finished.
  Ticket begin(int rank, const Collective& collective);
  void finish(int rank, const Ticket& ticket);
  /// The calling thread is blocked by a collective from now on, and again free. One training thread and one
  /// beside it may be so at a time.
  enum class Waiter { training, background };
  void hold(int rank, Waiter waiter, const Ticket& ticket);
  void release(int rank, Waiter waiter);

  Phase phase(int rank) const;
  int64_t step(int rank) const;
  /// What the training thread wrote is of one moment, wherever the rank stands or was stopped.
  RankStatus status(int rank) const;

 private:
  struct Memory;
  StatusBoard() = default;
  size_t bytes() const;
  void map(int descriptor);
  RankCell& cell(int rank) const;
  /// A heartbeat of a rank whose progress is `progress`.
  void show_heartbeat(RankCell& cell, const RankProgress& progress, int64_t now);
  Descriptor shared_;
  int ranks_ = 0;
  Memory* memory_ = nullptr;
};

}  // namespace larmor
