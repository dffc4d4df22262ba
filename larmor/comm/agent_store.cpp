#include "larmor/comm/agent_store.h"

#include <exception>
#include <vector>

#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/comm/rank_store.h"
#include "larmor/net/socket.h"

namespace larmor {

struct AgentStore::State {
  Rank rank;
  std::chrono::milliseconds limit;
  RankStore rank_store;
};

AgentStore::AgentStore(const Rank& rank, std::chrono::milliseconds limit)
    : state_(std::make_unique<State>(State{rank, limit, find_rank_store(rank, limit)})) {}

AgentStore::~AgentStore() = default;

const std::string& AgentStore::local_address() const { return state_->rank_store.local_address; }

void AgentStore::set(const std::string& key, const std::string& value) {
  try {
    state_->rank_store.store->set(key, value);
  } catch (const std::exception& error) {
    fail(Exit::environment, text("the launcher's store was lost: ", one_line(error)),
         "the launcher has probably ended");
  }
}

std::string AgentStore::get(const std::string& key) const {
  try {
    state_->rank_store.store->wait({key}, state_->limit);
    const auto bytes = state_->rank_store.store->get(key);
    return {bytes.begin(), bytes.end()};
  } catch (const std::exception& error) {
    fail(Exit::environment,
         text("rank ", state_->rank.index, " waited ", duration_text(state_->limit),
              " for rank 0 to say where it is: ", one_line(error)),
         "rank 0 has ended, or never came: its log says why");
  }
}

struct HostedStore::State {
  c10::intrusive_ptr<c10d::TCPStore> store;
};

HostedStore::HostedStore(const std::string& address) : state_(std::make_unique<State>()) {
  Listener listener(address, 0);
  port_ = listener.port();
  c10d::TCPStoreOptions options;
  options.isServer = true;
  options.port = static_cast<uint16_t>(port_);
  options.waitWorkers = false;
  options.masterListenFd = listener.take().release();
  state_->store = c10::make_intrusive<c10d::TCPStore>(address, options);
}

HostedStore::~HostedStore() = default;

}  // namespace larmor
