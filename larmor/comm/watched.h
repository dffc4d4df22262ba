// A communicator that lets somebody watch: every collective that begins, every time a thread is blocked by
// one.
#pragma once

#include <memory>

#include "larmor/comm/communicator.h"
#include "larmor/watch/status_board.h"

namespace larmor {

/// Hears of the collectives of a communicator and its duplicates. Called by the threads that use them.
class CollectiveObserver {
 public:
  using Ticket = StatusBoard::Ticket;
  virtual ~CollectiveObserver() = default;
  virtual Ticket begins(const Collective& collective) = 0;
  /// The caller is held up by it, and goes on; once for the start and once for each wait.
  virtual void holds_up(const Ticket& ticket) = 0;
  virtual void lets_go(const Ticket& ticket) = 0;
  /// Its result is there. Never for one that failed.
  virtual void ends(const Ticket& ticket) = 0;
};

/// `inner`, and every duplicate of it, with an observer. What is pending keeps the observer alive.
std::unique_ptr<Communicator> observed(std::unique_ptr<Communicator> inner,
                                       std::shared_ptr<CollectiveObserver> observer);
/// Borrows `inner`.
std::unique_ptr<Communicator> observed(Communicator& inner, std::shared_ptr<CollectiveObserver> observer);

/// The same, noted on the board, which has to outlive all of it. The thread that calls this is the training
/// one.
std::unique_ptr<Communicator> watched(std::unique_ptr<Communicator> inner, StatusBoard& board);

}  // namespace larmor
