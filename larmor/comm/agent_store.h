// torchrun's agent has its store at the master's port, so our leader listens on another port, and the members
// read that port from torchrun's store.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "larmor/launch/rank.h"

namespace larmor {

/// One thread. Requires: rank.agent_hosts_store.
class AgentStore {
 public:
  /// Throws Error (environment) when it cannot be reached within the limit.
  AgentStore(const Rank& rank, std::chrono::milliseconds limit);
  ~AgentStore();

  /// The numeric address with which this host speaks to the master's.
  const std::string& local_address() const;
  void set(const std::string& key, const std::string& value);
  /// Blocks until it was set. Throws Error (environment) when that does not happen within the limit.
  std::string get(const std::string& key) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A store for the ranks of any program that c10d connects, kept by this process: it listens at that address
/// alone, on a port of its own choice, as long as it lives.
class HostedStore {
 public:
  /// Throws Error (environment) when the address is not this host's.
  explicit HostedStore(const std::string& address);
  ~HostedStore();
  int port() const { return port_; }

 private:
  struct State;
  std::unique_ptr<State> state_;
  int port_ = 0;
};

}  // namespace larmor
