#include "larmor/comm/peer_watch.h"

#include <chrono>

#include "larmor/comm/group.h"
#include "larmor/launch/stop_signal.h"

namespace larmor {

static constexpr std::chrono::milliseconds look_at_peers_every{100};

PeerWatch::PeerWatch() : thread_([this](const std::stop_token& end) { watch(end); }) {}

void PeerWatch::add(Group& group) {
  const std::lock_guard lock(mutex_);
  groups_.insert(&group);
  if (is_lost_) group.lose_peer();
}

void PeerWatch::remove(Group& group) {
  const std::lock_guard lock(mutex_);
  groups_.erase(&group);
}

void PeerWatch::watch(const std::stop_token& end) {
  std::unique_lock lock(mutex_);
  while (!end.stop_requested()) {
    if (peer_is_lost()) return end_collectives();
    ended_.wait_for(lock, end, look_at_peers_every, [] { return false; });
  }
}

void PeerWatch::end_collectives() {
  is_lost_ = true;
  for (Group* const group : groups_) group->lose_peer();
}

}  // namespace larmor
