#include "larmor/net/socket.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <thread>

#include <netdb.h>
#include <poll.h>

#include "larmor/base/error.h"
#include "larmor/base/log.h"
#include "larmor/base/process/process.h"
#include "larmor/base/process/readiness.h"
#include "larmor/base/text.h"

namespace larmor {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// After which a wait is mentioned to the person.
constexpr milliseconds patience(10000);

using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

/// None when the name is not known, and `reason` says so.
Addresses addresses_of(const std::string& host, int port, int flags, std::string& reason) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = flags;
  addrinfo* found = nullptr;
  if (const int status = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found)) {
    reason = text("the name is not known here: ", gai_strerror(status));
    found = nullptr;
  }
  return {found, &freeaddrinfo};
}

milliseconds left_before(steady_clock::time_point deadline) {
  return std::max(std::chrono::ceil<milliseconds>(deadline - steady_clock::now()), milliseconds(0));
}

/// 0, or why there is no connection. A host that drops packets would hold a plain connect() for minutes.
int connect_to(int socket, const addrinfo& address, milliseconds limit) {
  if (connect(socket, address.ai_addr, address.ai_addrlen) == 0) return 0;
  // Interrupted, it goes on as one that is in progress.
  if (errno != EINPROGRESS && errno != EINTR) return errno;
  const auto deadline = steady_clock::now() + limit;
  std::array<pollfd, 1> watched{{{socket, POLLOUT, 0}}};
  while (!wait_for_any(watched, left_before(deadline))) {
    if (left_before(deadline).count() == 0) return ETIMEDOUT;
  }
  int error = 0;
  socklen_t length = sizeof(error);
  return getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &length) == 0 ? error : errno;
}

/// With nobody there, the kernel may take the port asked for as the caller's own and connect it to itself.
bool is_connected_to_itself(int socket) {
  sockaddr_storage own{}, other{};
  socklen_t own_length = sizeof(own), other_length = sizeof(other);
  return getsockname(socket, reinterpret_cast<sockaddr*>(&own), &own_length) == 0 &&
         getpeername(socket, reinterpret_cast<sockaddr*>(&other), &other_length) == 0 &&
         own_length == other_length && std::memcmp(&own, &other, own_length) == 0;
}

}  // namespace

Listener::Listener(const std::string& address, int port) {
  std::string reason;
  const Addresses all = addresses_of(address, port, AI_PASSIVE | AI_NUMERICSERV, reason);
  for (const addrinfo* one = all.get(); one != nullptr; one = one->ai_next) {
    Descriptor candidate(socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    // Connections of an earlier start linger in the kernel; a program that listens is still in the way.
    const int yes = 1;
    if (candidate.is_open() &&
        setsockopt(candidate.number(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) == 0 &&
        bind(candidate.number(), one->ai_addr, one->ai_addrlen) == 0 &&
        listen(candidate.number(), SOMAXCONN) == 0) {
      socket_ = std::move(candidate);
      break;
    }
    reason = errno == EADDRINUSE ? "the port is in use" : std::strerror(errno);
  }
  if (!socket_.is_open()) {
    fail(Exit::environment, text("cannot listen at ", address, ":", port, " on ", host_name(), ": ", reason),
         "the master's address (MASTER_ADDR, --master-addr) has to be one of this host's, and its port "
         "(MASTER_PORT, --master-port) free: another run may hold it");
  }
  sockaddr_storage bound{};
  socklen_t length = sizeof(bound);
  char number[NI_MAXSERV] = {};
  auto* const any =
      reinterpret_cast<sockaddr*>(&bound);  // the socket calls take every kind through this type
  if (getsockname(socket_.number(), any, &length) != 0 ||
      getnameinfo(any, length, nullptr, 0, number, sizeof(number), NI_NUMERICSERV) != 0)
    fail(Exit::environment, text("cannot tell at which port of ", address, " this process listens"));
  const std::string_view written = number;
  std::from_chars(written.data(), written.data() + written.size(), port_);
}

Descriptor Listener::accept() {
  return Descriptor(accept4(socket_.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
}

bool is_loopback(const std::string& address) {
  return address.starts_with("127.") || address == "::1" || address == "localhost";
}

void refuse_unreachable(const std::string& address) {
  constexpr milliseconds limit(3000);
  const Listener probe(address, 0);
  std::string reason;
  if (try_to_connect(address, probe.port(), limit, reason).is_open()) return;
  fail(Exit::environment,
       text("programs on ", host_name(), " cannot reach one another at ", address, ": ", lower(reason)),
       "ranks of one host meet over its loopback device: bring it up (ip link set lo up), or train with one "
       "rank");
}

std::string own_address(int socket) {
  sockaddr_storage address{};
  socklen_t length = sizeof(address);
  char words[NI_MAXHOST] = {};
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (getsockname(socket, any, &length) != 0 ||
      getnameinfo(any, length, words, sizeof(words), nullptr, 0, NI_NUMERICHOST) != 0) {
    return {};
  }
  return words;
}

Descriptor try_to_connect(const std::string& host, int port, milliseconds limit, std::string& reason) {
  const Addresses all = addresses_of(host, port, 0, reason);
  for (const addrinfo* one = all.get(); one != nullptr; one = one->ai_next) {
    Descriptor candidate(socket(one->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    int error = candidate.is_open() ? connect_to(candidate.number(), *one, limit) : errno;
    if (error == 0 && is_connected_to_itself(candidate.number())) error = ECONNREFUSED;
    if (error == 0) return candidate;
    reason = std::strerror(error);
  }
  return {};
}

Descriptor connect_within(const std::string& host, int port, milliseconds limit, const std::string& who) {
  constexpr milliseconds longest_attempt(3000), longest_pause(1000);
  const auto start = steady_clock::now(), deadline = start + limit;
  milliseconds pause(20);
  bool warned = false;
  for (std::string reason;;) {
    const milliseconds attempt = std::clamp(left_before(deadline), milliseconds(100), longest_attempt);
    if (Descriptor socket = try_to_connect(host, port, attempt, reason); socket.is_open()) return socket;
    if (left_before(deadline).count() == 0) {
      fail(Exit::environment,
           text(who, " could not reach the master at ", host, ":", port, " within ",
                human_seconds(static_cast<double>(limit.count()) / 1000), ": ", lower(reason)),
           "see whether rank 0 runs there, and whether the master's address (MASTER_ADDR, --master-addr) and "
           "port (MASTER_PORT, --master-port) name its host and a port that no firewall closes");
    }
    if (!warned && steady_clock::now() - start > patience) {
      warned = true;
      log::warning(text("still trying to reach the master at ", host, ":", port, ": ", lower(reason)));
    }
    std::this_thread::sleep_for(std::min(pause, left_before(deadline)));
    pause = std::min(pause * 2, longest_pause);
  }
}

}  // namespace larmor
