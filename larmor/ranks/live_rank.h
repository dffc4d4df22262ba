// A rank that lives, in a process of its own or as a thread: what it has, and how it shows what it does.
#pragma once

#include <functional>
#include <memory>

#include "larmor/comm/communicator.h"
#include "larmor/launch/fault_point.h"
#include "larmor/launch/rank.h"
#include "larmor/ranks/beats_on_board.h"
#include "larmor/watch/status_board.h"

namespace larmor::ranks {

/// One thread. Its heartbeats are shown on the board that whoever started it reads.
class LiveRank {
 public:
  using Connect = std::function<std::unique_ptr<Communicator>(DeviceKind device, int device_index)>;

  LiveRank(Rank place, Connect connect);

  const Rank& place() const { return place_; }
  bool is_first() const { return place_.index == 0; }
  /// The rank is in that phase from here on; what LARMOR_FAULT asks for happens there.
  void enter(Phase phase, int64_t step = 0);
  /// A group of all ranks. Nobody sees its collectives. Collective. Throws what Rendezvous::connect() does.
  std::unique_ptr<Communicator> connect(DeviceKind device, int device_index);
  /// The same, its collectives shown on the board, which this rank holds; what LARMOR_FAULT asks for while it
  /// starts happens before. Collective.
  std::unique_ptr<Communicator> connect_watched(DeviceKind device, int device_index);
  /// A communicator on the device that the plan gives to the rank. Collective.
  std::unique_ptr<Communicator> connect_watched(const Plan& plan) {
    return connect_watched(plan.device, device_index(place_, plan));
  }

 private:
  Rank place_;
  Connect connect_;
  StatusBoard board_;
  BeatsOnBoard beats_;
  FaultPoint faults_;
};

}  // namespace larmor::ranks
