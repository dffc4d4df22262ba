#include "larmor/launch/channel.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include <poll.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor {
namespace {

constexpr size_t longest_line = size_t{4} << 20, most_unsent = size_t{1} << 20;
/// In one call: whoever sends faster than we read must not keep us.
constexpr int most_reads = 8;
constexpr const char* foreign = "it sent something that is no message of larmor";

}  // namespace

void Channel::close(const std::string& why) {
  if (is_closed()) return;
  why_closed_ = why;
  socket_ = Descriptor();
}

void Channel::write_some() {
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

void Channel::read_some() {
  char buffer[65536];
  for (int reads = 0; reads < most_reads && !is_closed(); ++reads) {
    const ssize_t got = recv(descriptor(), buffer, sizeof(buffer), MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (got < 0) return close(text("the connection broke: ", lower(std::strerror(errno))));
    if (got == 0) return close("the connection was closed");
    incoming_.append(buffer, static_cast<size_t>(got));
    size_t begin = 0;
    for (size_t end; (end = incoming_.find('\n', begin)) != std::string::npos; begin = end + 1) {
      try {
        messages_.push_back(parse_json(std::string_view(incoming_).substr(begin, end - begin), "a message"));
      } catch (const Error&) {
        return close(foreign);
      }
      if (!messages_.back().is_object()) {
        messages_.pop_back();
        return close(foreign);
      }
    }
    incoming_.erase(0, begin);
    if (incoming_.size() > longest_line) return close(foreign);
  }
}

void Channel::send(const Json& message) {
  if (is_closed()) return;
  outgoing_ += message.dump(-1, ' ', false, Json::error_handler_t::replace);
  outgoing_ += '\n';
  write_some();
}

std::vector<Json> Channel::receive() {
  write_some();
  read_some();
  return std::exchange(messages_, {});
}

Json Channel::receive_within(std::chrono::milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  for (;;) {
    write_some();
    read_some();
    if (!messages_.empty()) {
      Json first = std::move(messages_.front());
      messages_.erase(messages_.begin());
      return first;
    }
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (is_closed() || left.count() <= 0) return nullptr;
    const auto events = static_cast<short>(outgoing_.empty() ? POLLIN : POLLIN | POLLOUT);
    pollfd watched{descriptor(), events, 0};
    poll(&watched, 1, static_cast<int>(left.count()));
  }
}

void Channel::flush(std::chrono::milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  for (write_some(); !is_closed() && !outgoing_.empty(); write_some()) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return;
    pollfd watched{descriptor(), POLLOUT, 0};
    poll(&watched, 1, static_cast<int>(left.count()));
  }
}

}  // namespace larmor
