// Rendezvous of ranks that are processes: a key-value store on rank 0's host, or torchrun's. The store of
// ranks that our launcher starts asks for a key (keyed_store.h); those of other launchers are c10d's, and
// open.
#pragma once

#include <chrono>
#include <exception>
#include <string>

#include <torch/csrc/distributed/c10d/Store.hpp>

#include "larmor/launch/rank.h"

namespace larmor {

struct RankStore {
  c10::intrusive_ptr<c10d::Store> store;
  /// The numeric address with which this host speaks to the master's: peers reach us there.
  std::string local_address;
};

/// Hosts the store or reaches it. Blocks. Throws Error (environment) when its port is taken or it
/// cannot be reached within the limit.
RankStore find_rank_store(const Rank& rank, std::chrono::milliseconds limit);

/// Blocks until every rank has come to the group called `group`. Collective. Throws Error (environment)
/// naming the ranks that did not come within the limit.
void wait_for_all(c10d::Store& store, const Rank& rank, const std::string& group,
                  std::chrono::milliseconds limit);

/// "10 min", "1.5 s".
std::string duration_text(std::chrono::milliseconds duration);
/// What a libtorch exception says, in one line, without its stack.
std::string one_line(const std::exception& error);

}  // namespace larmor
