#include "larmor/comm/meeting.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#include <c10/util/Exception.h>
#include <netdb.h>
#include <poll.h>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <unistd.h>

#include "larmor/base/error.h"
#include "larmor/base/log.h"
#include "larmor/base/process.h"
#include "larmor/base/text.h"

namespace larmor {
namespace {

using std::chrono::milliseconds;
using SteadyTime = std::chrono::steady_clock::time_point;

/// After which a wait is mentioned to the person.
constexpr milliseconds patience(10000);

milliseconds left_until(SteadyTime deadline) {
  const auto left = std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now());
  return std::max(left, milliseconds(0));
}

struct Descriptor {
  explicit Descriptor(int opened) : number(opened) {}
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number;
};

/// 0, or why there is no connection. Never blocks longer than `limit`: a host that drops packets would
/// otherwise hold a plain connect() for minutes.
int connect_within(int descriptor, const addrinfo& address, milliseconds limit) {
  if (::connect(descriptor, address.ai_addr, address.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  pollfd watched{descriptor, POLLOUT, 0};
  if (::poll(&watched, 1, static_cast<int>(limit.count())) <= 0) return ETIMEDOUT;
  int error = 0;
  socklen_t length = sizeof(error);
  ::getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &length);
  return error;
}

std::string own_address(int descriptor) {
  sockaddr_storage address{};
  socklen_t length = sizeof(address);
  char text[NI_MAXHOST] = {};
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (::getsockname(descriptor, generic, &length) != 0 ||
      ::getnameinfo(generic, length, text, sizeof(text), nullptr, 0, NI_NUMERICHOST) != 0) {
    return {};
  }
  return text;
}

/// One attempt to open a connection: our own address on success, else `reason` says why not.
std::string try_to_reach(const std::string& host, int port, milliseconds limit, std::string& reason) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int status = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found)) {
    reason = text("the name is not known here: ", ::gai_strerror(status));
    return {};
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> all(found, &::freeaddrinfo);
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    const Descriptor socket(::socket(one->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (socket.number < 0) continue;
    const int error = connect_within(socket.number, *one, limit);
    if (error == 0) return own_address(socket.number);
    reason = std::strerror(error);
  }
  return {};
}

/// Tries until somebody listens at the master's port. libtorch's client tries too, but shouts about each
/// attempt, and overstays its limit.
std::string reach(const Rank& rank, SteadyTime deadline, milliseconds limit) {
  constexpr milliseconds longest_attempt(3000), longest_pause(1000);
  const SteadyTime start = std::chrono::steady_clock::now();
  milliseconds pause(20);
  bool warned = false;
  for (std::string reason;;) {
    const milliseconds attempt = std::clamp(left_until(deadline), milliseconds(100), longest_attempt);
    std::string address = try_to_reach(rank.master_address, rank.master_port, attempt, reason);
    if (!address.empty()) return address;
    if (left_until(deadline).count() == 0) {
      fail(Exit::environment,
           text("rank ", rank.index, " could not reach the master at ", rank.master_address, ":",
                rank.master_port, " within ", duration_text(limit), ": ", lower(reason)),
           "see whether rank 0 runs there, and whether MASTER_ADDR and MASTER_PORT name its host and a port "
           "that no firewall closes");
    }
    if (!warned && std::chrono::steady_clock::now() - start > patience) {
      warned = true;
      log::warning(text("still trying to reach the master at ", rank.master_address, ":", rank.master_port,
                        ": ", lower(reason)));
    }
    std::this_thread::sleep_for(std::min(pause, left_until(deadline)));
    pause = std::min(pause * 2, longest_pause);
  }
}

std::string ranks_text(const std::vector<std::string>& ranks) {
  return text(ranks.size() == 1 ? "rank " : "ranks ", join(ranks, ", "));
}

bool hosts_store(const Rank& rank) { return rank.index == 0 && !rank.agent_hosts_store; }

c10::intrusive_ptr<c10d::Store> host_store(const Rank& rank, milliseconds limit) {
  c10d::TCPStoreOptions options;
  options.isServer = true;
  options.port = static_cast<uint16_t>(rank.master_port);
  options.waitWorkers = false;
  options.timeout = limit;
  if (rank.store_descriptor >= 0) options.masterListenFd = rank.store_descriptor;
  try {
    return c10::make_intrusive<c10d::TCPStore>(rank.master_address, options);
  } catch (const std::exception& error) {
    const std::string reason = one_line(error);
    const bool taken = lower(reason).find("address already in use") != std::string::npos;
    fail(
        Exit::environment,
        text("rank 0 cannot listen at ", rank.master_address, ":", rank.master_port, " on ", host_name(),
             ": ", taken ? std::string("the port is in use") : reason),
        taken ? "set MASTER_PORT to a free port on every rank" : "MASTER_ADDR has to name rank 0's own host");
  }
}

c10::intrusive_ptr<c10d::Store> join_store(const Rank& rank, milliseconds left, milliseconds limit) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<uint16_t>(rank.master_port);
  options.waitWorkers = false;
  options.timeout = std::max(left, milliseconds(1000));
  try {
    auto store = c10::make_intrusive<c10d::TCPStore>(rank.master_address, options);
    store->setTimeout(limit);
    return store;
  } catch (const std::exception& error) {
    fail(Exit::environment,
         text("rank ", rank.index, " reached ", rank.master_address, ":", rank.master_port,
              ", but no store answers there: ", one_line(error)),
         "another program may listen at that port: set MASTER_PORT to a free one on every rank");
  }
}

}  // namespace

std::string duration_text(milliseconds duration) {
  return human_seconds(static_cast<double>(duration.count()) / 1000);
}

std::string one_line(const std::exception& error) {
  const auto* torch_error = dynamic_cast<const c10::Error*>(&error);
  const std::string all = torch_error ? torch_error->what_without_backtrace() : error.what();
  return std::string(trim(all.substr(0, all.find('\n'))));
}

Meeting meet(const Rank& rank, milliseconds limit) {
  const SteadyTime deadline = std::chrono::steady_clock::now() + limit;
  Meeting meeting;
  if (hosts_store(rank)) meeting.store = host_store(rank, limit);
  meeting.local_address = reach(rank, deadline, limit);
  if (!meeting.store) meeting.store = join_store(rank, left_until(deadline), limit);
  return meeting;
}

void wait_for_all(c10d::Store& store, const Rank& rank, const std::string& group, milliseconds limit) {
  const SteadyTime start = std::chrono::steady_clock::now(), deadline = start + limit;
  const auto key_of = [&](int index) { return text(group, "/came/", index); };
  std::vector<std::string> missing;
  bool warned = false;
  try {
    store.set(key_of(rank.index), host_name());
    std::vector<int> expected(static_cast<size_t>(rank.count));
    std::iota(expected.begin(), expected.end(), 0);
    // Asked again and again, because a blocking wait of the store could only say that somebody is missing.
    for (milliseconds pause(2);; pause = std::min(pause * 2, milliseconds(250))) {
      std::erase_if(expected, [&](int index) { return store.check({key_of(index)}); });
      if (expected.empty()) return;
      missing.clear();
      for (const int index : expected) missing.push_back(std::to_string(index));
      if (left_until(deadline).count() == 0) break;
      if (!warned && std::chrono::steady_clock::now() - start > patience) {
        warned = true;
        log::warning(text("still waiting for ", ranks_text(missing), " of ", rank.count));
      }
      std::this_thread::sleep_for(std::min(pause, left_until(deadline)));
    }
  } catch (const std::exception& error) {
    fail(Exit::environment,
         text("rank ", rank.index, " lost the store at ", rank.master_address, ":", rank.master_port,
              " while the ranks were meeting: ", one_line(error)),
         "rank 0 has probably ended: its log says why");
  }
  fail(Exit::environment,
       text("rank ", rank.index, " waited ", duration_text(limit), " at ", rank.master_address, ":",
            rank.master_port, " for ", ranks_text(missing), " of ", rank.count, ", which never came"),
       "the log of such a rank, or of the job that should have started it, says why");
}

}  // namespace larmor
