#include "larmor/ranks/live_rank.h"

#include <utility>

#include "larmor/comm/watched.h"

namespace larmor::ranks {

LiveRank::LiveRank(Rank place, Connect connect)
    : place_(std::move(place)),
      connect_(std::move(connect)),
      board_(StatusBoard::from_environment(place_.index, place_.count)),
      beats_(board_, place_.index),
      faults_(FaultPoint::from_environment(place_)) {
  board_.set(place_.index, Phase::starting, 0);
}

void LiveRank::enter(Phase phase, int64_t step) {
  board_.set(place_.index, phase, step);
  faults_.reach(phase, step);
}

std::unique_ptr<Communicator> LiveRank::connect(DeviceKind device, int device_index) {
  return connect_(device, device_index);
}

std::unique_ptr<Communicator> LiveRank::connect_watched(DeviceKind device, int device_index) {
  faults_.reach(Phase::starting, 0);
  return watched(connect(device, device_index), board_);
}

}  // namespace larmor::ranks
