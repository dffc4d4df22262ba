#include "tests/services/support/http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <stdexcept>
#include <utility>

#include <poll.h>
#include <unistd.h>

#include "larmor/base/text.h"

namespace larmor::testing {

namespace {

/// Whole, or nothing where more of it has yet to come.
bool read_request(std::string& bytes, HttpAsked& request) {
  const auto end = bytes.find("\r\n\r\n");
  if (end == std::string::npos) return false;
  request = {};
  const auto lines = split(bytes.substr(0, end), '\n');
  const auto first = split(lines.front(), ' ');
  request.method = first.at(0);
  request.path = first.at(1);
  for (size_t i = 1; i < lines.size(); ++i) {
    const auto colon = lines[i].find(':');
    request.headers[lower(lines[i].substr(0, colon))] = std::string(trim(lines[i].substr(colon + 1)));
  }
  const auto length =
      request.headers.contains("content-length") ? std::stoul(request.headers["content-length"]) : 0;
  if (bytes.size() < end + 4 + length) return false;
  request.body = bytes.substr(end + 4, length);
  bytes.erase(0, end + 4 + length);
  return true;
}

bool waits_for(int descriptor) {
  constexpr int milliseconds = 20;
  pollfd ready{.fd = descriptor, .events = POLLIN, .revents = 0};
  return ::poll(&ready, 1, milliseconds) > 0;
}

}  // namespace

HttpServer::HttpServer(std::function<HttpAnswer(const HttpAsked&)> answer) : answer_(std::move(answer)) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in where{
      .sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
  socklen_t size = sizeof where;
  auto* const address = reinterpret_cast<sockaddr*>(&where);
  if (::bind(listener_, address, size) != 0 || ::listen(listener_, 8) != 0 ||
      ::getsockname(listener_, address, &size) != 0)
    throw std::runtime_error("no server on loopback");
  port_ = ntohs(where.sin_port);
  thread_ = std::thread([this] { serve(); });
}

HttpServer::~HttpServer() {
  stops_ = true;
  thread_.join();
  ::close(listener_);
}

std::string HttpServer::address() const { return text("http://127.0.0.1:", port_); }

std::vector<HttpAsked> HttpServer::asked() const {
  const std::lock_guard guard(mutex_);
  return asked_;
}

void HttpServer::serve() {
  while (!stops_) {
    if (!waits_for(listener_)) continue;
    const int connection = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) continue;
    serve_connection(connection);
    ::close(connection);
  }
}

void HttpServer::serve_connection(int connection) {
  std::string bytes;
  while (!stops_) {
    if (!waits_for(connection)) {
      if (waits_for(listener_)) return;  // another client is not kept waiting
      continue;
    }
    std::array<char, 65536> part{};
    const auto count = ::recv(connection, part.data(), part.size(), 0);
    if (count <= 0) return;
    bytes.append(part.data(), static_cast<size_t>(count));
    HttpAsked request;
    while (read_request(bytes, request)) {
      const auto answer = answer_(request);
      {
        const std::lock_guard guard(mutex_);
        asked_.push_back(request);
      }
      const auto reply =
          text("HTTP/1.1 ", answer.status,
               " said\r\nContent-Type: application/json\r\nContent-Length: ", answer.body.size(), "\r\n\r\n",
               answer.body);
      if (::send(connection, reply.data(), reply.size(), MSG_NOSIGNAL) < 0) return;
    }
  }
}

}  // namespace larmor::testing
