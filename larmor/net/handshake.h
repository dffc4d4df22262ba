// How two processes show one another that they know the key of a run, before any other byte. Bytes go in and
// bytes come out; the connection is somebody else's.
//
//   member -> leader  16 random bytes, and 16 of their code: 32 bytes
//   leader -> member  16 random bytes of its own, and a code of both: 48 bytes
//   member -> leader  another code of both: 32 bytes
//
// Each code is HMAC-SHA-256 with the run's key, of words that differ by its sender and by what the connection
// is for. The first one is no proof (it can be recorded and said again), but without the key it cannot be
// made, and a wrong one gets no answer. No side proves anything by repeating what the other one has sent.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "larmor/net/run_key.h"

namespace larmor {

/// The keys of one connection, other ones in each direction.
struct ChannelKeys {
  Digest send{};
  Digest receive{};
};

/// What a peer that has proven nothing may send to a leader, in all.
constexpr size_t most_unproven_bytes = 64;

class Handshake {
 public:
  enum class Side { leader, member };
  /// `purpose`: what the connection is for; the same on both sides.
  Handshake(Side side, const RunKey& key, std::string_view purpose);

  /// How many bytes are to be received next; 0 when it is over.
  size_t wanted() const;
  /// Takes no more than wanted() bytes at a time.
  void receive(std::string_view bytes);
  /// What is to be sent now.
  std::string take_outgoing();
  /// The peer did not know the key. For good.
  bool has_failed() const { return stage_ == Stage::failed; }
  /// It did, and knows that we do as soon as it has what is to be sent.
  bool is_done() const { return stage_ == Stage::done; }
  /// A leader: the member's first words were in order, these bytes are its random ones.
  bool has_greeted() const { return stage_ == Stage::proof || is_done(); }
  const std::string& member_nonce() const { return member_nonce_; }
  /// Requires: is_done().
  ChannelKeys keys() const;

 private:
  enum class Stage { greeting, answer, proof, done, failed };
  std::string code(std::string_view what, bool with_both = true) const;
  void take_greeting();
  void take_answer();
  void take_proof();

  RunKey key_;
  std::string purpose_;
  Side side_;
  Stage stage_;
  std::string member_nonce_, leader_nonce_, incoming_, outgoing_;
};

}  // namespace larmor
