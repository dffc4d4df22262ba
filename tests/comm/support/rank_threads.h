// Ranks of a test as threads, over thread ranks or over Gloo within this process.
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "larmor/comm/communicator.h"

namespace larmor::testing {

using RankBody = std::function<void(Communicator&)>;

/// What each rank's body threw; its communicator is destroyed when the body ends or throws.
std::vector<std::exception_ptr> try_thread_ranks(int size, const RankBody& body);
/// Rethrows the first error by rank.
void run_thread_ranks(int size, const RankBody& body);

/// The same over Gloo, on loopback.
std::vector<std::exception_ptr> try_gloo_ranks(int size, std::chrono::milliseconds limit,
                                               const RankBody& body);
void run_gloo_ranks(int size, const RankBody& body);

/// A listening socket on a free loopback port.
int listen_on_loopback(int& port);

/// "" when there was no error.
std::string message_of(const std::exception_ptr& error);

}  // namespace larmor::testing
