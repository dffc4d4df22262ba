#include "tests/processes/support/network_hosts.h"

#include <thread>

#include <unistd.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

#include "tests/processes/support/installed_program.h"

namespace larmor::testing {

namespace {

// A file says that the namespace is there; `sleep` keeps it.
constexpr auto keep = R"(hostname "$1" && ip link set lo up && : >"$0" && exec sleep infinity)";

}  // namespace

std::string NetworkHosts::obstacle() {
  if (geteuid() != 0) return "network namespaces need root";
  for (const auto* program : {"unshare", "nsenter", "ip", "hostname", "taskset"}) {
    if (installed_program(program).empty()) return text(program, " is not installed");
  }
  return std::thread::hardware_concurrency() < 2 ? "two hosts need two cores" : "";
}

NetworkHosts::NetworkHosts() {
  for (const auto* name : {"host-a", "host-b"}) {
    const auto ready = scratch_.path() / name;
    ProcessOptions keeper;
    keeper.program = installed_program("unshare");
    keeper.arguments = {"--net", "--uts", "sh", "-c", keep, ready.string(), name};
    keepers_.push_back(Process::start(keeper));
    constexpr double limit = 10;
    if (!becomes_true([&] { return std::filesystem::exists(ready); }, limit))
      fail(Exit::environment, text("no network namespace for ", name), "see what unshare --net says");
  }
  const auto call = [this](int host, const std::vector<std::string>& command) {
    const auto end = start(host, command).wait();
    if (end.status != 0) fail(Exit::environment, join(command, " ") + ": " + end.err, "the test needs veth");
  };
  call(0, {"ip", "link", "add", "larmor0", "type", "veth", "peer", "name", "larmor0", "netns",
           text(keepers_[1].id())});
  for (int host = 0; host < 2; ++host) {
    const auto* address = addresses.at(static_cast<size_t>(host));
    call(host, {"ip", "address", "add", text(address, "/24"), "dev", "larmor0"});
    call(host, {"ip", "link", "set", "larmor0", "up"});
  }
}

std::vector<std::string> NetworkHosts::enter(int host) const {
  return {text("--target=", keepers_.at(static_cast<size_t>(host)).id()),
          "--net",
          "--uts",
          "taskset",
          "-c",
          text(host)};
}

Running NetworkHosts::start(int host, const std::vector<std::string>& command,
                            const ProgramOptions& options) const {
  auto words = enter(host);
  words.insert(words.end(), command.begin(), command.end());
  auto with_nsenter = options;
  with_nsenter.program = installed_program("nsenter");
  return Running(words, with_nsenter);
}

void NetworkHosts::disconnect() const { start(0, {"ip", "link", "set", "larmor0", "down"}).wait(); }

}  // namespace larmor::testing
