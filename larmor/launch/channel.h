// What two agents say to each other: JSON documents over one connection, a line each.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "larmor/base/json.h"
#include "larmor/launch/descriptor.h"

namespace larmor {

/// One thread. Nothing that a peer sends is trusted: a line is bounded, and a torn or foreign one is an end
/// of the connection, never an exception.
class Channel {
 public:
  explicit Channel(Descriptor socket) : socket_(std::move(socket)) {}

  int descriptor() const { return socket_.number(); }
  /// Keeps what the peer does not take yet for the next call; a peer that takes nothing of a mebibyte is
  /// gone. Never blocks.
  void send(const Json& message);
  /// Whole messages that have come, a part of them from a peer that never stops talking. Never blocks.
  std::vector<Json> receive();
  /// One message, or null when the limit is over or the peer gone. Blocks.
  Json receive_within(std::chrono::milliseconds limit);
  /// Blocks, for at most `limit`, until everything is sent.
  void flush(std::chrono::milliseconds limit);
  /// Hangs up; what has come already can still be received.
  void close(const std::string& why);
  bool is_closed() const { return !why_closed_.empty(); }
  /// "the connection was closed", "it sent something that is no message of larmor".
  const std::string& why_closed() const { return why_closed_; }

 private:
  void write_some();
  void read_some();

  Descriptor socket_;
  std::string incoming_, outgoing_;
  std::vector<Json> messages_;
  std::string why_closed_;
};

}  // namespace larmor
