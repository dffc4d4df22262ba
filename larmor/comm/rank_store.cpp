#include "larmor/comm/rank_store.h"

#include <algorithm>
#include <thread>
#include <vector>

#include <c10/util/Exception.h>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "larmor/base/error.h"
#include "larmor/base/log.h"
#include "larmor/base/process/process.h"
#include "larmor/base/text.h"
#include "larmor/comm/keyed_store.h"
#include "larmor/launch/stop_signal.h"
#include "larmor/net/run_key.h"
#include "larmor/net/socket.h"

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

std::string ranks_text(const std::vector<std::string>& ranks) {
  return text(ranks.size() == 1 ? "rank " : "ranks ", join(ranks, ", "));
}

bool hosts_store(const Rank& rank) { return rank.index == 0 && !rank.agent_hosts_store; }

/// Listens at the master's address alone: libtorch by itself would listen at all that the host has.
c10::intrusive_ptr<c10d::Store> host_store(const Rank& rank, milliseconds limit) {
  c10d::TCPStoreOptions options;
  options.isServer = true;
  options.port = static_cast<uint16_t>(rank.master_port);
  options.waitWorkers = false;
  options.timeout = limit;
  options.masterListenFd = rank.store_descriptor >= 0
                               ? rank.store_descriptor
                               : Listener(rank.master_address, rank.master_port).take().release();
  try {
    return c10::make_intrusive<c10d::TCPStore>(rank.master_address, options);
  } catch (const std::exception& error) {
    fail(Exit::environment, text("rank 0 cannot keep a store at ", rank.master_address, ":", rank.master_port,
                                 " on ", host_name(), ": ", one_line(error)));
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

/// The store of our own launcher's ranks.
static RankStore find_keyed_store(const Rank& rank, milliseconds limit) {
  const auto key = RunKey::from_descriptor(rank.store_key_descriptor);
  std::shared_ptr<StoreServer> server;
  if (hosts_store(rank)) {
    auto listening = rank.store_descriptor >= 0 ? Descriptor(rank.store_descriptor)
                                                : Listener(rank.master_address, rank.master_port).take();
    server = std::make_shared<StoreServer>(std::move(listening), key);
  }
  RankStore rank_store;
  auto store = c10::make_intrusive<KeyedStore>(StoreLocation{rank.master_address, rank.master_port, key},
                                               limit, text("rank ", rank.index), std::move(server));
  rank_store.local_address = store->local_address();
  rank_store.store = std::move(store);
  return rank_store;
}

RankStore find_rank_store(const Rank& rank, milliseconds limit) {
  if (rank.store_key_descriptor >= 0) return find_keyed_store(rank, limit);
  const SteadyTime deadline = std::chrono::steady_clock::now() + limit;
  RankStore rank_store;
  if (hosts_store(rank)) rank_store.store = host_store(rank, limit);
  const Descriptor location =
      connect_within(rank.master_address, rank.master_port, limit, text("rank ", rank.index));
  rank_store.local_address = own_address(location.number());
  if (!rank_store.store) rank_store.store = join_store(rank, left_until(deadline), limit);
  return rank_store;
}

namespace {

/// Keys of one request, which fit into one frame of a store.
constexpr int keys_at_once = 256;
/// Of a rank that waits: the busier the store, the more seldom it is asked.
constexpr milliseconds longest_pause(250), pause_per_thousand(300);
constexpr size_t most_named = 8;

/// The ranks that are to come to a group. Each tells of itself, and the last one that all are there: a
/// message or three a rank, however many there are.
class Gathering {
 public:
  Gathering(c10d::Store& store, const Rank& rank, const std::string& group)
      : store_(store), rank_(rank), group_(group) {
    store_.set(key_of(rank_.index), host_name());
    if (store_.add(count_key(), 1) == rank_.count) store_.set(whole_key(), "1");
  }

  bool is_whole() { return store_.check({whole_key()}); }
  milliseconds longest_pause_here() const {
    return std::max(longest_pause, pause_per_thousand * rank_.count / 1000);
  }
  /// The first of them, and how many more there are.
  std::string missing() {
    std::vector<std::string> names;
    for (int first = 0; first < rank_.count && names.size() < most_named; first += keys_at_once)
      add_missing(first, std::min(first + keys_at_once, rank_.count), names);
    const auto more = rank_.count - store_.add(count_key(), 0) - std::ssize(names);
    return text(ranks_text(names), more > 0 ? text(" and ", more, " more") : "");
  }

 private:
  std::string key_of(int rank) const { return text(group_, "/came/", rank); }
  std::string count_key() const { return group_ + "/count"; }
  std::string whole_key() const { return group_ + "/whole"; }

  /// Of the ranks from `first` to before `end`.
  void add_missing(int first, int end, std::vector<std::string>& names) {
    if (names.size() == most_named) return;
    std::vector<std::string> keys;
    for (int rank = first; rank < end; ++rank) keys.push_back(key_of(rank));
    if (store_.check(keys)) return;
    if (end - first == 1) return names.push_back(std::to_string(first));
    const int middle = first + (end - first) / 2;
    add_missing(first, middle, names);
    add_missing(middle, end, names);
  }

  c10d::Store& store_;
  const Rank& rank_;
  const std::string& group_;
};

}  // namespace

void wait_for_all(c10d::Store& store, const Rank& rank, const std::string& group, milliseconds limit) {
  const SteadyTime start = std::chrono::steady_clock::now(), deadline = start + limit;
  std::string missing;
  bool warned = false;
  try {
    Gathering gathering(store, rank, group);
    // Asked again and again, because a blocking wait of the store does not hear that a peer is lost.
    for (milliseconds pause(2);; pause = std::min(pause * 2, gathering.longest_pause_here())) {
      if (gathering.is_whole()) return;
      if (peer_is_lost()) break;
      if (left_until(deadline).count() == 0) {
        missing = gathering.missing();
        break;
      }
      if (!warned && std::chrono::steady_clock::now() - start > patience) {
        warned = true;
        log::warning(text("still waiting for ", gathering.missing(), " of ", rank.count));
      }
      std::this_thread::sleep_for(std::min(pause, left_until(deadline)));
    }
  } catch (const std::exception& error) {
    fail(Exit::environment,
         text("rank ", rank.index, " lost the store at ", rank.master_address, ":", rank.master_port,
              " during the rendezvous of the ranks: ", one_line(error)),
         "rank 0 has probably ended: its log says why");
  }
  if (peer_is_lost()) {
    fail(Exit::rank_lost, text("rank ", rank.index, " lost a peer during the rendezvous of the ranks"),
         "another rank has ended; its log says why");
  }
  fail(Exit::environment,
       text("rank ", rank.index, " waited ", duration_text(limit), " at ", rank.master_address, ":",
            rank.master_port, " for ", missing, " of ", rank.count, ", which never came"),
       "the log of such a rank, or of the job that should have started it, says why");
}

}  // namespace larmor
