#include "larmor/net/channel.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include <poll.h>

#include "larmor/base/error.h"
#include "larmor/base/process/readiness.h"
#include "larmor/base/text.h"

namespace larmor {
namespace {

/// In one call: whoever sends faster than we read must not keep us.
constexpr int most_reads = 8;
constexpr const char* foreign = "it sent something that is no message of larmor";

}  // namespace

SealedStream::SealedStream(AuthenticatedPeer peer)
    : socket_(std::move(peer.socket)), writer_(peer.keys.send), reader_(peer.keys.receive) {}

void SealedStream::close(const std::string& why) {
  if (is_closed()) return;
  why_closed_ = why;
  socket_ = Descriptor();
}

void SealedStream::write_some() {
  while (!is_closed() && !outgoing_.empty()) {
    const ssize_t sent =
        ::send(descriptor(), outgoing_.data(), outgoing_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      outgoing_.erase(0, static_cast<size_t>(sent));
    } else if (sent < 0 && errno == EINTR) {
      continue;
    } else if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      if (outgoing_.size() > most_unsent) close("it takes no messages any more");
      return;
    } else {
      const int error = errno;
      read_some();  // its last words may say why it hung up
      close(text("the connection broke: ", lower(std::strerror(error))));
    }
  }
}

void SealedStream::read_some() {
  char buffer[65536];
  for (int reads = 0; reads < most_reads && !is_closed(); ++reads) {
    const ssize_t got = recv(descriptor(), buffer, sizeof(buffer), MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (got < 0) return close(text("the connection broke: ", lower(std::strerror(errno))));
    if (got == 0) return close("the connection was closed");
    for (auto& message : reader_.open({buffer, static_cast<size_t>(got)}))
      messages_.push_back(std::move(message));
    if (reader_.is_broken()) return close(foreign);
  }
}

void SealedStream::send(std::string_view message) {
  if (is_closed()) return;
  if (message.size() > longest_frame) return close("a message to it was too long");
  outgoing_ += writer_.seal(message);
  write_some();
}

std::vector<std::string> SealedStream::receive() {
  write_some();
  read_some();
  return std::exchange(messages_, {});
}

void SealedStream::wait(std::chrono::milliseconds limit) const {
  if (is_closed()) return;
  const auto events = static_cast<short>(outgoing_.empty() ? POLLIN : POLLIN | POLLOUT);
  std::array<pollfd, 1> watched{{{descriptor(), events, 0}}};
  wait_for_any(watched, limit);
}

void SealedStream::flush(std::chrono::milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  for (write_some(); !is_closed() && !outgoing_.empty(); write_some()) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return;
    std::array<pollfd, 1> watched{{{descriptor(), POLLOUT, 0}}};
    wait_for_any(watched, left);
  }
}

void Channel::send(const Json& message) {
  stream_.send(message.dump(-1, ' ', false, Json::error_handler_t::replace));
}

void Channel::read_messages() {
  for (const auto& words : stream_.receive()) {
    try {
      auto message = parse_json(words, "a message");
      if (!message.is_object()) return close(foreign);
      messages_.push_back(std::move(message));
    } catch (const Error&) {
      return close(foreign);
    }
  }
}

std::vector<Json> Channel::receive() {
  read_messages();
  return std::exchange(messages_, {});
}

Json Channel::receive_within(std::chrono::milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  for (;;) {
    read_messages();
    if (!messages_.empty()) {
      Json first = std::move(messages_.front());
      messages_.erase(messages_.begin());
      return first;
    }
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (is_closed() || left.count() <= 0) return nullptr;
    stream_.wait(left);
  }
}

}  // namespace larmor
