// The heartbeats of a rank's work, shown on the board that the launcher reads.
#pragma once

#include "larmor/device/heartbeat.h"
#include "larmor/watch/status_board.h"

namespace larmor {

/// What a network's blocks, and whatever else takes long within a phase, show to whoever watches the rank.
/// For as long as it lives, on the thread that made it. Borrows the board.
class BeatsOnBoard final : public Heartbeat {
 public:
  BeatsOnBoard(StatusBoard& board, int rank) : board_(board), rank_(rank) {}
  void show() override { board_.beat(rank_); }

 private:
  StatusBoard& board_;
  int rank_;
  HeartbeatScope here_{this};
};

}  // namespace larmor
