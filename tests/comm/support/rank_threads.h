// Ranks of a test as threads, over thread ranks or over Gloo within this process.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "larmor/comm/communicator.h"
#include "larmor/launch/rank.h"
#include "larmor/net/run_key.h"

namespace larmor::testing {

using RankBody = std::function<void(Communicator&)>;

/// A listening socket on a free loopback port.
inline int listen_on_loopback(int& port) {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (descriptor < 0 || ::bind(descriptor, generic, length) != 0 || ::listen(descriptor, SOMAXCONN) != 0 ||
      ::getsockname(descriptor, generic, &length) != 0) {
    throw std::system_error(errno, std::generic_category(), "cannot listen on loopback");
  }
  port = ntohs(address.sin_port);
  return descriptor;
}
namespace detail {

using Connect = std::function<std::unique_ptr<Communicator>(int rank)>;

inline std::vector<std::exception_ptr> try_ranks(int size, const Connect& connect_rank,
                                                 const RankBody& body) {
  std::vector<std::exception_ptr> errors(static_cast<size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        const std::unique_ptr<Communicator> communicator = connect_rank(rank);
        body(*communicator);
      } catch (...) {
        errors[static_cast<size_t>(rank)] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return errors;
}

inline void rethrow_first(const std::vector<std::exception_ptr>& errors) {
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace detail

/// What each rank's body threw; its communicator is destroyed when the body ends or throws.
inline std::vector<std::exception_ptr> try_thread_ranks(int size, const RankBody& body) {
  std::vector<std::unique_ptr<Communicator>> ranks = make_thread_ranks(size);
  return detail::try_ranks(size, [&](int rank) { return std::move(ranks[static_cast<size_t>(rank)]); }, body);
}

/// Rethrows the first error by rank.
inline void run_thread_ranks(int size, const RankBody& body) {
  detail::rethrow_first(try_thread_ranks(size, body));
}

/// The same over Gloo, on loopback.
inline std::vector<std::exception_ptr> try_gloo_ranks(int size, std::chrono::milliseconds limit,
                                                      const RankBody& body) {
  Rank shared;
  shared.count = shared.local_count = size;
  const int descriptor = listen_on_loopback(shared.master_port);
  const Descriptor key = RunKey::draw().to_descriptor();
  shared.store_key_descriptor = key.number();
  const auto connect_rank = [&](int index) {
    Rank rank = shared;
    rank.index = rank.local_index = index;
    if (index == 0) rank.store_descriptor = descriptor;
    ConnectOptions options;
    options.limit = limit;
    return connect(rank, options);
  };
  return detail::try_ranks(size, connect_rank, body);
}

inline void run_gloo_ranks(int size, const RankBody& body) {
  detail::rethrow_first(try_gloo_ranks(size, std::chrono::seconds(30), body));
}

/// "" when there was no error.
inline std::string message_of(const std::exception_ptr& error) {
  if (!error) return {};
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& exception) {
    return exception.what();
  }
}

}  // namespace larmor::testing
