// The only way ranks speak. One interface over one rank, threads, Gloo and NCCL; nobody above this layer
// asks how many ranks there are in order to decide what to do.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include "larmor/launch/rank.h"
#include "larmor/plan/kinds.h"

namespace larmor {

enum class Reduce { sum, mean, min, max };

/// A collective under way. Copyable; wait() may be called more than once, by one thread at a time.
class Pending {
 public:
  Pending() = default;  // already done
  explicit Pending(std::function<void()> wait);
  /// Blocks until the result is there. Throws Error (rank_lost) when a peer is gone or the limit passed.
  void wait();

 private:
  std::shared_ptr<std::function<void()>> wait_;
};

/// One thread. Calls must come in the same order on all ranks. Tensors have to be contiguous and stay
/// alive until wait().
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  bool is_first() const { return rank() == 0; }
  /// Where the tensors of its collectives have to be.
  virtual c10::Device device() const { return c10::kCPU; }

  /// The mean is the sum, divided by size() afterwards: of floating-point tensors only.
  virtual Pending all_reduce(at::Tensor tensor, Reduce operation) = 0;  // Collective.
  virtual Pending reduce_scatter(const at::Tensor& full, at::Tensor shard,
                                 Reduce operation) = 0;                      // Collective.
  virtual Pending all_gather(const at::Tensor& shard, at::Tensor full) = 0;  // Collective.
  virtual Pending broadcast(at::Tensor tensor, int root) = 0;                // Collective.
  virtual void barrier() = 0;                                                // Collective.

  /// A group of the same ranks with channels of its own: its collectives may overlap ours. Collective.
  virtual std::unique_ptr<Communicator> duplicate() = 0;
  /// The same for tensors of the host: no stream of a device comes between its collectives and their threads.
  /// Collective.
  virtual std::unique_ptr<Communicator> duplicate_on_host() { return duplicate(); }
  /// Ends every collective under way on this rank with an error. Thread-safe.
  virtual void abort() = 0;
};

/// Rank `root`'s bytes on every rank. They travel with their length and a hash: throws Error (rank_lost) for
/// what nobody has sent, which is what a collective leaves that failed on the device. Collective. Blocks.
std::string broadcast_bytes(Communicator& communicator, const std::string& bytes, int root);
/// Every rank's bytes, in rank order; checked likewise. Collective. Blocks.
std::vector<std::string> all_gather_bytes(Communicator& communicator, const std::string& bytes);

struct ConnectOptions {
  std::chrono::milliseconds limit{std::chrono::minutes(10)};  // of every collective and of the rendezvous
  DeviceKind device = DeviceKind::cpu;
  int device_index = -1;
};

/// How long a rank waits, after which it is an error that others are silent.
struct PeerLimits {
  std::chrono::milliseconds rendezvous{std::chrono::minutes(10)};  // of the wait for ranks to come
  std::chrono::milliseconds collective{std::chrono::minutes(10)};  // of each one afterwards
};

/// Where the ranks of several processes meet. One is enough for any number of groups: ranks may agree on a
/// plan over CPUs before they know their devices. One thread.
class Rendezvous {
 public:
  /// Hosts the store or reaches it; nothing for a rank alone. Blocks. Throws Error (environment) when the
  /// master cannot be reached or its port is taken.
  Rendezvous(const Rank& rank, const PeerLimits& limits);
  ~Rendezvous();
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  /// Solo, Gloo or NCCL, by the rank and the device. Collective. Throws Error (environment) when a rank never
  /// came. The group outlives the rendezvous.
  std::unique_ptr<Communicator> connect(DeviceKind device, int device_index);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The one group of a rendezvous of its own.
std::unique_ptr<Communicator> connect(const Rank& rank, const ConnectOptions& options);

/// One rank: every collective is the identity.
std::unique_ptr<Communicator> make_solo(c10::Device device = c10::kCPU);

/// `size` ranks in one process, one for each of as many threads; on CPU. A rank whose communicator is
/// destroyed or aborted makes the others' collectives fail instead of hang.
std::vector<std::unique_ptr<Communicator>> make_thread_ranks(int size);

/// Where ranks meet that are threads of this process, one a device.
class ThreadRendezvous {
 public:
  /// `limit`: of every collective between GPUs.
  ThreadRendezvous(int ranks, DeviceKind device, std::chrono::milliseconds limit = PeerLimits().collective);
  ~ThreadRendezvous();
  ThreadRendezvous(const ThreadRendezvous&) = delete;
  ThreadRendezvous& operator=(const ThreadRendezvous&) = delete;

  /// A communicator for the calling thread, which is `rank` from now on; once a rank. On a CPU as
  /// make_thread_ranks(), at once; between GPUs over NCCL, and collective. Thread-safe. Throws Error
  /// (environment) where that cannot be.
  std::unique_ptr<Communicator> connect(int rank, int device_index);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace larmor
