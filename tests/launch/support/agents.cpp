#include "tests/launch/support/agents.h"

#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "larmor/base/clock.h"
#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/launch/hosts/local_host.h"
#include "larmor/launch/signal_pipe.h"

namespace larmor {

Ends connect_ends() {
  int ends[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    fail(Exit::environment, "no pair of sockets");
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

const RunKey& test_key() {
  static const RunKey key = *RunKey::from_hex(std::string(64, '7'));
  return key;
}

ChannelKeys test_keys(Handshake::Side side) {
  ChannelKeys keys{.send = test_key().code({"leader"}), .receive = test_key().code({"member"})};
  if (side == Handshake::Side::member) std::swap(keys.send, keys.receive);
  return keys;
}

Channel leaders_end(Descriptor socket) {
  return Channel({std::move(socket), test_keys(Handshake::Side::leader)});
}

Channel members_end(Descriptor socket) {
  return Channel({std::move(socket), test_keys(Handshake::Side::member)});
}

Hello hello_of(int agent, int agents) {
  Hello hello;
  hello.agent = agent;
  hello.agents = agents;
  hello.host = text("node-", agent);
  hello.build = "1.0";
  hello.words = {{"train.epochs", "10"}, {"data.root", "images"}};
  hello.wall_seconds = 1000;
  return hello;
}

GroupStart script_start(const std::vector<int>& ranks, const std::string& script,
                        const std::filesystem::path& log_folder) {
  GroupStart start;
  start.world_size = static_cast<int>(ranks.size());
  start.local_count = static_cast<int>(ranks.size());
  for (const int rank : ranks) {
    start.world_size = std::max(start.world_size, rank + 1);
    start.ranks.push_back({.rank = rank, .local_index = static_cast<int>(start.ranks.size()), .cores = {}});
  }
  start.program = "/bin/sh";
  start.arguments = {"-c", script};
  start.log_folder = log_folder;
  return start;
}

bool happens(const std::function<bool()>& step) {
  const SystemClock clock;
  const double limit = clock.steady_seconds() + 10;
  while (clock.steady_seconds() < limit) {
    if (step()) return true;
    std::this_thread::sleep_for(milliseconds(5));
  }
  return false;
}

MemberThread::MemberThread(Descriptor socket, CompleteStart complete, milliseconds silence,
                           milliseconds pause)
    : thread_([this, socket = std::move(socket), complete = std::move(complete), silence, pause]() mutable {
        try {
          Channel leader = members_end(std::move(socket));
          SignalPipe signals;
          LocalHost host(&signals, /*console=*/false);
          const Dismissal over = serve(leader, host, complete, {silence, pause});
          outcome_ = text("dismissed with ", over.status, ": ", over.message);
        } catch (const Error& error) {
          outcome_ = text(static_cast<int>(error.exit()), ": ", error.message());
        }
      }) {}

MemberThread::~MemberThread() {
  if (thread_.joinable()) thread_.join();
}

std::string MemberThread::outcome() {
  if (thread_.joinable()) thread_.join();
  return outcome_;
}

}  // namespace larmor
