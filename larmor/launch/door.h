// A listening socket behind which only those come who know the key of the run, and the way through it from
// the other side.
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <poll.h>

#include "larmor/launch/descriptor.h"
#include "larmor/launch/handshake.h"

namespace larmor {

/// A connection whose other side knows the key.
struct Guest {
  Descriptor socket;
  ChannelKeys keys;
};

/// One thread. Who knocks may send 64 bytes in 2 s, is told nothing before it has begun as one who knows the
/// key, and costs no more than a descriptor. There is room for so many at a time; when more come, the oldest
/// of the address from which most have come makes room, but nobody who has begun rightly. Never blocks.
class Door {
 public:
  /// Borrows the listening socket.
  Door(int listening, const RunKey& key, std::string_view purpose);
  ~Door();

  /// What to wait for before serve() has something to do.
  void watch(std::vector<pollfd>& watched) const;
  /// Those who have shown that they know the key since the last call.
  std::vector<Guest> serve();
  /// Who is at the door now.
  size_t strangers() const { return strangers_.size(); }

  static constexpr size_t most_strangers = 128;

 private:
  struct Stranger;
  void let_knock();
  void make_room();
  void hear(Stranger& stranger);
  bool is_new(const std::string& nonce);

  int listening_;
  RunKey key_;
  std::string purpose_;
  std::vector<std::unique_ptr<Stranger>> strangers_;  // in the order in which they came
  std::chrono::steady_clock::time_point full_until_ = {};
  // Greetings that were right can have been recorded. Newest last.
  std::set<std::string> greeted_;
  std::deque<std::string> greeted_in_order_;
};

/// Knocks: shows over this connection that we know the key, and that the other side does. Blocks, no longer
/// than `limit`. Not open when that fails, and `reason` says why.
Guest pass_door(Descriptor socket, const RunKey& key, std::string_view purpose,
                std::chrono::milliseconds limit, std::string& reason);

}  // namespace larmor
