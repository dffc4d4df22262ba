#include <barrier>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/comm/backends.h"
#include "larmor/comm/communicator.h"
#include "larmor/comm/peer_watch.h"
#include "larmor/device/device.h"

namespace larmor {
namespace {

/// Libtorch notes every collective for a debugger of its own, in a map that threads enter without a lock:
/// two groups of one process, training's and the checkpoints', may meet there, and the process dies of it.
/// A rank whose collective has failed would sleep for four times the time that is set here, usually a minute,
/// so that those notes can be written down; its peers are told instead. Nor are they asked to write such
/// notes down: a rank that was asked waits eight minutes for its group's end, which waits for that. Whoever
/// sets the variables has all back. Before main(), since threads may read the environment later.
[[maybe_unused]] const bool flight_recorder_is_stopped = [] {
  setenv("TORCH_FR_BUFFER_SIZE", "0", /*overwrite=*/0);
  setenv("TORCH_NCCL_DUMP_ON_TIMEOUT", "0", /*overwrite=*/0);
  setenv("TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC", "0", /*overwrite=*/0);
  setenv("TORCH_NCCL_PROPAGATE_ERROR", "1", /*overwrite=*/0);
  return true;
}();

c10::Device device_at(DeviceKind kind, int index) {
  if (kind == DeviceKind::cpu) return c10::kCPU;
  return {c10::kCUDA, static_cast<c10::DeviceIndex>(index)};
}

std::unique_ptr<Communicator> make_group(const Backends& make, const std::string& name, c10::Device device,
                                         std::chrono::milliseconds limit, const Rank& rank) {
  try {
    return std::make_unique<Group>(make, name, device, limit);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    fail(Exit::environment,
         text("rank ", rank.index, " of ", rank.count,
              " could not be connected with its peers: ", one_line(error)),
         "a peer may have ended, or a firewall may close the ports between the hosts");
  }
}

/// NCCL asks the device for memory while it connects. In one process that may wait for the collectives of
/// other threads, which wait for this one: so nobody has any under way, or begins one, before all are
/// connected.
MakeBackend connect_together(MakeBackend make, c10::Device device, std::shared_ptr<std::barrier<>> everyone) {
  return [make = std::move(make), device, everyone = std::move(everyone)](const std::string& group) {
    synchronize(device);
    everyone->arrive_and_wait();
    auto backend = make(group);
    everyone->arrive_and_wait();
    return backend;
  };
}

}  // namespace

struct Rendezvous::State {
  Rank rank;
  PeerLimits limits;
  std::optional<RankStore> rank_store;  // none for a rank alone
  int groups = 0;
  std::shared_ptr<PeerWatch> peers = {};
};

Rendezvous::Rendezvous(const Rank& rank, const PeerLimits& limits)
    : state_(std::make_unique<State>(State{rank, limits, std::nullopt, 0, nullptr})) {
  if (rank.count == 1) return;
  state_->rank_store = find_rank_store(rank, limits.rendezvous);
  state_->peers = std::make_shared<PeerWatch>();
}

Rendezvous::~Rendezvous() = default;

std::unique_ptr<Communicator> Rendezvous::connect(DeviceKind kind, int device_index) {
  const c10::Device device = device_at(kind, device_index);
  if (!state_->rank_store) return make_solo(device);
  const auto& [rank, limits, rank_store, groups, peers] = *state_;
  // Ranks of an earlier life of the run may still hold keys in a store that outlived them.
  const std::string name = text("larmor/", rank.generation, "/", state_->groups++);
  wait_for_all(*rank_store->store, rank, name, limits.rendezvous);

  const MakeBackend on_host = gloo_backends(*rank_store, rank, limits.collective);
  const MakeBackend own =
      kind == DeviceKind::cuda ? nccl_backends(*rank_store, rank, device_index, limits.collective) : on_host;
  return make_group({own, on_host, peers}, name, device, limits.collective, rank);
}

struct ThreadRendezvous::State {
  int ranks;
  DeviceKind kind;
  std::chrono::milliseconds limit;
  std::vector<std::unique_ptr<Communicator>> on_cpu;  // until each is taken
  RankStore rank_store;                               // of GPUs
  std::shared_ptr<std::barrier<>> everyone = {};      // with a GPU
};

ThreadRendezvous::ThreadRendezvous(int ranks, DeviceKind kind, std::chrono::milliseconds limit)
    : state_(std::make_unique<State>(
          State{.ranks = ranks, .kind = kind, .limit = limit, .on_cpu = {}, .rank_store = {}})) {
  if (kind == DeviceKind::cpu) {
    state_->on_cpu = make_thread_ranks(ranks);
    return;
  }
  state_->rank_store = {.store = c10::make_intrusive<c10d::HashStore>(), .local_address = "127.0.0.1"};
  state_->everyone = std::make_shared<std::barrier<>>(ranks);
}

ThreadRendezvous::~ThreadRendezvous() = default;

std::unique_ptr<Communicator> ThreadRendezvous::connect(int rank, int device_index) {
  const auto& own = *state_;
  if (own.kind == DeviceKind::cpu) return std::move(state_->on_cpu.at(static_cast<size_t>(rank)));
  Rank thread;
  thread.index = thread.local_index = rank;
  thread.count = thread.local_count = own.ranks;
  const auto device = device_at(own.kind, device_index);
  const auto make = nccl_backends(own.rank_store, thread, device_index, own.limit);
  return make_group({.own = connect_together(make, device, own.everyone),
                     .on_host = gloo_backends(own.rank_store, thread, own.limit),
                     .peers = nullptr},
                    "larmor/threads", device, own.limit, thread);
}

std::unique_ptr<Communicator> connect(const Rank& rank, const ConnectOptions& options) {
  return Rendezvous(rank, {.rendezvous = options.limit, .collective = options.limit})
      .connect(options.device, options.device_index);
}

}  // namespace larmor
