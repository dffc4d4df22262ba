#include <csignal>
#include <cstdlib>
#include <string>

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "larmor/base/error.h"
#include "larmor/base/process/signal_mask.h"
#include "larmor/base/text.h"
#include "larmor/comm/backends.h"
#include "larmor/net/socket.h"

namespace larmor {
namespace {

/// Adds what c10d's class lacks: an end to collectives under way.
class Gloo final : public c10d::ProcessGroupGloo {
 public:
  using ProcessGroupGloo::ProcessGroupGloo;
  void abort() override {
    for (const auto& context : contexts_) context->closeConnections();
  }
};

std::shared_ptr<gloo::transport::Device> make_device(const RankStore& rank_store, const Rank& rank) {
  const char* interface = std::getenv("GLOO_SOCKET_IFNAME");
  if (interface != nullptr && *interface != '\0') {
    return c10d::ProcessGroupGloo::createDeviceForInterface(interface);
  }
  if (rank.local_count < rank.count && is_loopback(rank_store.local_address)) {
    fail(
        Exit::environment,
        text("rank ", rank.index, " reaches the master '", rank.master_address, "' over loopback (",
             rank_store.local_address, "), where ranks on other hosts cannot reach it"),
        "set MASTER_ADDR to an address that all hosts share, or GLOO_SOCKET_IFNAME to the network interface");
  }
  // Not by host name: many systems resolve their own name to a loopback address.
  return c10d::ProcessGroupGloo::createDeviceForHostname(rank_store.local_address);
}

}  // namespace

MakeBackend gloo_backends(const RankStore& rank_store, const Rank& rank, std::chrono::milliseconds limit) {
  return [=](const std::string& group) -> c10::intrusive_ptr<c10d::Backend> {
    // Gloo writes to sockets that a peer may have closed. Its threads, which begin here, get an error instead
    // of SIGPIPE, which would end this process in the place of a collective.
    const SignalsBlocked of_all_threads{SIGPIPE};
    auto options = c10d::ProcessGroupGloo::Options::create(limit);
    options->devices.push_back(make_device(rank_store, rank));
    options->group_name = group;
    const auto store = c10::make_intrusive<c10d::PrefixStore>(group, rank_store.store);
    return c10::make_intrusive<Gloo>(store, rank.index, rank.count, options);
  };
}

}  // namespace larmor
