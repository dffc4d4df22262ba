// Ends the collectives of this process once a peer is lost. Gloo learns of that by itself where a connection
// is closed; NCCL does not, nor does a rank that waits for one which waits in its turn.
#pragma once

#include <condition_variable>
#include <mutex>
#include <set>
#include <stop_token>
#include <thread>

namespace larmor {

class Group;

/// Thread-safe. Its thread looks at what the launcher says (launch/stop_signal.h).
class PeerWatch {
 public:
  PeerWatch();

  /// Borrows the group until it is removed.
  void add(Group& group);
  /// Blocks while the group's collectives are being ended.
  void remove(Group& group);

 private:
  void watch(const std::stop_token& end);
  void end_collectives();

  std::mutex mutex_;
  std::condition_variable_any ended_;
  std::set<Group*> groups_;
  bool is_lost_ = false;
  std::jthread thread_;
};

}  // namespace larmor
