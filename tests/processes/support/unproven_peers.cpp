#include "tests/processes/support/unproven_peers.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <deque>
#include <fstream>
#include <random>
#include <utility>

#include <poll.h>
#include <unistd.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor::testing {

namespace {

using std::chrono::steady_clock;

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  return address;
}

Socket listen_at(int& port) {
  Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int yes = 1;
  setsockopt(socket.number(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  auto address = loopback(port);
  socklen_t length = sizeof(address);
  auto* any = reinterpret_cast<sockaddr*>(&address);
  if (bind(socket.number(), any, length) != 0 || listen(socket.number(), SOMAXCONN) != 0 ||
      getsockname(socket.number(), any, &length) != 0)
    fail(Exit::environment, "no port of loopback");
  port = ntohs(address.sin_port);
  return socket;
}

bool is_readable(int descriptor, int milliseconds) {
  pollfd watched{descriptor, POLLIN, 0};
  return poll(&watched, 1, milliseconds) == 1;
}

/// One connection of a crowd: what it says, in its pieces.
std::vector<std::string> words_of_one(std::mt19937& random,
                                      const std::vector<std::vector<std::string>>& recorded) {
  const auto draw = [&](size_t below) { return std::uniform_int_distribution<size_t>(0, below - 1)(random); };
  constexpr size_t kinds = 8, longest = 200'000;
  switch (draw(kinds)) {
    case 0:
      return {};
    case 1:
      return {std::string(draw(64) + 1, static_cast<char>(draw(256)))};
    case 2:
      return {std::string(draw(longest) + 1, static_cast<char>(draw(256)))};
    case 3:
      return {"GET / HTTP/1.1\r\nHost: master\r\n\r\n"};
    case 4:
      return {
          "{\"hello\": {\"larmor\": 2, \"agent\": 1, \"agents\": 3, \"host\": \"x\", \"machine\": \"\", "
          "\"build\": "
          "\"x\", \"local_index\": -1, \"words\": {}, \"hardware\": null, \"wall\": 0}}\n"};
    case 5: {  // c10d's own clients begin so
      std::string words(5, '\0');
      const std::array<unsigned char, 5> magic{0, 0xce, 0xf7, 0x85, 0x3c};
      std::copy(magic.begin(), magic.end(), words.begin());
      return {words, std::string(16, '\xff')};
    }
    default:
      if (recorded.empty()) return {std::string(32, 'r')};
      return recorded[draw(recorded.size())];
  }
}

}  // namespace

int free_port() {
  int port = 0;
  listen_at(port);
  return port;
}

Socket::Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
Socket& Socket::operator=(Socket&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}
Socket::~Socket() {
  if (descriptor_ >= 0) close(descriptor_);
}

Socket Socket::connected_to(int port) {
  Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto address = loopback(port);
  if (connect(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    return Socket();
  return socket;
}

void Socket::say(const std::string& words) const {
  // Whoever hangs up on us, or reads nothing, is of no interest here.
  [[maybe_unused]] const auto sent =
      send(descriptor_, words.data(), words.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

std::string Socket::hear(double seconds, bool* is_over) const {
  std::string all;
  if (is_over) *is_over = false;
  const auto deadline = steady_clock::now() + std::chrono::duration<double>(seconds);
  std::array<char, 4096> buffer{};
  do {
    const auto got = recv(descriptor_, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got > 0) all.append(buffer.data(), static_cast<size_t>(got));
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
      if (is_over) *is_over = true;
      break;
    }
    if (got < 0 && seconds > 0) is_readable(descriptor_, 20);
  } while (steady_clock::now() < deadline);
  return all;
}

StandIn::StandIn(int port, std::function<void(Socket)> receive)
    : listening_(listen_at(port)), port_(port), thread_([this, receive = std::move(receive)] {
        while (!is_over_) {
          if (!is_readable(listening_.number(), 50)) continue;
          Socket one(accept4(listening_.number(), nullptr, nullptr, SOCK_CLOEXEC));
          if (one.is_open()) receive(std::move(one));
        }
      }) {}

StandIn::~StandIn() {
  is_over_ = true;
  thread_.join();
}

Recorder::Recorder(int port) : to_(port), door_(0, [this](Socket from) { pass_on(std::move(from)); }) {}

void Recorder::pass_on(Socket from) {
  auto to = Socket::connected_to(to_);
  if (!to.is_open()) return;
  const std::lock_guard lock(mutex_);
  const auto number = said_.size();
  said_.emplace_back();
  threads_.emplace_back(
      [this, number, from = std::move(from), to = std::move(to)](const std::stop_token& stop) {
        constexpr size_t pieces_kept = 8;
        std::array<char, 65536> buffer{};
        const auto carry = [&](int source, int target) -> ssize_t {
          const auto got = recv(source, buffer.data(), buffer.size(), MSG_DONTWAIT);
          if (got > 0) send(target, buffer.data(), static_cast<size_t>(got), MSG_NOSIGNAL);
          return got < 0 && (errno == EAGAIN || errno == EINTR) ? 1 : got;
        };
        while (!stop.stop_requested()) {
          std::array<pollfd, 2> watched{{{from.number(), POLLIN, 0}, {to.number(), POLLIN, 0}}};
          poll(watched.data(), watched.size(), 50);
          if (watched[0].revents != 0) {
            std::array<char, 65536> seen{};
            const auto ahead = recv(from.number(), seen.data(), seen.size(), MSG_PEEK | MSG_DONTWAIT);
            if (ahead > 0) {
              const std::lock_guard keeps(mutex_);
              if (said_[number].size() < pieces_kept)
                said_[number].emplace_back(seen.data(), static_cast<size_t>(ahead));
            }
            if (carry(from.number(), to.number()) <= 0) return;
          }
          if (watched[1].revents != 0 && carry(to.number(), from.number()) <= 0) return;
        }
      });
}

std::vector<std::vector<std::string>> Recorder::said() const {
  const std::lock_guard lock(mutex_);
  return said_;
}

Crowd crowd(int port, size_t connections, const std::vector<std::vector<std::string>>& recorded,
            unsigned seed) {
  std::mt19937 random(seed);
  Crowd result;
  constexpr size_t open_at_a_time = 100;
  struct One {
    Socket socket;
    size_t heard = 0;
  };
  std::deque<One> open;
  const auto listen_to = [&](One& one) {
    const auto words = one.socket.hear(0);
    one.heard += words.size();
    result.most_heard = std::max(result.most_heard, one.heard);
    result.all_heard += words;
  };
  for (; result.connections < connections; ++result.connections) {
    auto socket = Socket::connected_to(port);
    if (!socket.is_open()) {
      ++result.refused;
      continue;
    }
    for (const auto& words : words_of_one(random, recorded)) socket.say(words);
    open.push_back({std::move(socket)});
    for (auto& one : open) {
      if (result.connections % 10 == 0) listen_to(one);
    }
    if (open.size() > open_at_a_time) {
      listen_to(open.front());
      open.pop_front();
    }
  }
  for (auto& one : open) listen_to(one);
  return result;
}

size_t memory_of(int process) {
  std::ifstream file(text("/proc/", process, "/statm"));
  size_t size = 0, resident = 0;
  file >> size >> resident;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

std::string variable_of(int process, const std::string& name) {
  std::ifstream file(text("/proc/", process, "/environ"), std::ios::binary);
  for (std::string entry; std::getline(file, entry, '\0');) {
    if (entry.starts_with(name + "=")) return entry.substr(name.size() + 1);
  }
  return "";
}

}  // namespace larmor::testing
