// What two processes of a run say to each other: sealed messages over one connection, whose other side has
// shown that it knows the run's key (authenticating_listener.h).
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "larmor/base/json.h"
#include "larmor/base/process/descriptor.h"
#include "larmor/net/authenticating_listener.h"
#include "larmor/net/sealed_frames.h"

namespace larmor {

/// One thread. A torn, foreign, repeated or overlong message is an end of the connection, never an exception.
class SealedStream {
 public:
  explicit SealedStream(AuthenticatedPeer peer);

  int descriptor() const { return socket_.number(); }
  /// Keeps what the peer does not take yet for the next call; a peer that takes nothing of `most_unsent`
  /// bytes is gone. Never blocks.
  void send(std::string_view message);
  /// Whole messages that have come, a part of them from a peer that never stops talking. Never blocks.
  std::vector<std::string> receive();
  /// Blocks until there is something to receive or to send, for at most `limit`.
  void wait(std::chrono::milliseconds limit) const;
  /// Blocks, for at most `limit`, until everything is sent.
  void flush(std::chrono::milliseconds limit);
  bool has_unsent() const { return !outgoing_.empty(); }
  /// Hangs up; what has come already can still be received.
  void close(const std::string& why);
  bool is_closed() const { return !why_closed_.empty(); }
  /// "the connection was closed", "it sent something that is no message of larmor".
  const std::string& why_closed() const { return why_closed_; }

  static constexpr size_t most_unsent = size_t{1} << 20;

 private:
  void write_some();
  void read_some();

  Descriptor socket_;
  FrameWriter writer_;
  FrameReader reader_;
  std::string outgoing_;
  std::vector<std::string> messages_;
  std::string why_closed_;
};

/// The same with JSON objects as messages.
class Channel {
 public:
  explicit Channel(AuthenticatedPeer peer) : stream_(std::move(peer)) {}

  int descriptor() const { return stream_.descriptor(); }
  /// The same as SealedStream::send().
  void send(const Json& message);
  /// The same as SealedStream::receive().
  std::vector<Json> receive();
  /// One message, or null when the limit is over or the peer gone. Blocks.
  Json receive_within(std::chrono::milliseconds limit);
  void flush(std::chrono::milliseconds limit) { stream_.flush(limit); }
  void close(const std::string& why) { stream_.close(why); }
  bool is_closed() const { return stream_.is_closed(); }
  const std::string& why_closed() const { return stream_.why_closed(); }

 private:
  void read_messages();

  SealedStream stream_;
  std::vector<Json> messages_;
};

}  // namespace larmor
