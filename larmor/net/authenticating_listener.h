// A listening socket that accepts only peers that prove that they know the run's key, and the connecting side
// of that handshake.
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <poll.h>

#include "larmor/base/process/descriptor.h"
#include "larmor/net/handshake.h"

namespace larmor {

/// A connection whose other side has proven that it knows the key.
struct AuthenticatedPeer {
  Descriptor socket;
  ChannelKeys keys;
};

/// One thread. Never blocks. An unproven peer may send 64 bytes within 2 s, receives nothing before its first
/// message is right, and costs one descriptor. At most `most_unproven` are connected at a time; beyond that
/// the oldest connection of the most frequent address is closed, but none whose first message was right.
class AuthenticatingListener {
 public:
  /// Borrows the listening socket.
  AuthenticatingListener(int listening, const RunKey& key, std::string_view purpose);
  ~AuthenticatingListener();

  /// What to wait for before serve() has something to do.
  void watch(std::vector<pollfd>& watched) const;
  /// The peers that have proven since the last call that they know the key.
  std::vector<AuthenticatedPeer> serve();
  /// The number of connected peers that have not proven anything yet.
  size_t unproven() const { return unproven_.size(); }

  static constexpr size_t most_unproven = 128;

 private:
  struct UnprovenPeer;
  void accept_peers();
  void make_room();
  void hear(UnprovenPeer& peer);
  bool is_new(const std::string& nonce);

  int listening_;
  RunKey key_;
  std::string purpose_;
  std::vector<std::unique_ptr<UnprovenPeer>> unproven_;  // in the order of their arrival
  std::chrono::steady_clock::time_point full_until_ = {};
  // First messages that were right: an attacker may have recorded them, so each counts once. Newest last.
  std::set<std::string> greeted_;
  std::deque<std::string> greeted_in_order_;
};

/// The connecting side: proves that this process knows the key, and checks that the other side does. Blocks,
/// no longer than `limit`. When that fails the socket of the result is closed, and `reason` says why.
AuthenticatedPeer authenticate(Descriptor socket, const RunKey& key, std::string_view purpose,
                               std::chrono::milliseconds limit, std::string& reason);

}  // namespace larmor
