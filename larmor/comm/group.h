// Communicator over one of libtorch's collective backends. Gloo and NCCL differ in how a backend is
// made, hardly in how it is used.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "larmor/comm/communicator.h"

namespace larmor {

class PeerWatch;

/// Makes the backend of the group of that name. Collective. Throws what libtorch throws.
using MakeBackend = std::function<c10::intrusive_ptr<c10d::Backend>(const std::string& group)>;

/// How a group and its duplicates are made.
struct Backends {
  MakeBackend own;
  MakeBackend on_host;  // of tensors on the host; the same as `own` for a group of the host
  std::shared_ptr<PeerWatch> peers = nullptr;  // null where all ranks are threads of this process
};

class Group final : public Communicator {
 public:
  Group(Backends make, std::string name, c10::Device device, std::chrono::milliseconds limit);
  ~Group() override;

  int rank() const override { return backend_->getRank(); }
  int size() const override { return backend_->getSize(); }
  c10::Device device() const override { return device_; }

  Pending all_reduce(at::Tensor tensor, Reduce operation) override;
  Pending reduce_scatter(const at::Tensor& full, at::Tensor shard, Reduce operation) override;
  Pending all_gather(const at::Tensor& shard, at::Tensor full) override;
  Pending broadcast(at::Tensor tensor, int root) override;
  void barrier() override;
  std::unique_ptr<Communicator> duplicate() override;
  std::unique_ptr<Communicator> duplicate_on_host() override;
  void abort() override;
  /// The same, where another rank has ended. Thread-safe.
  void lose_peer();

 private:
  using Work = c10::intrusive_ptr<c10d::Work>;
  /// What a waiting thread needs; a Pending may outlive its group.
  struct Watch;
  static void sleep_until_done(const std::shared_ptr<Watch>& watch, const Work& work);
  /// Starts a collective; `after` completes its result once the backend is done.
  Pending begin(const char* operation, const std::function<Work()>& start, std::function<void()> after = {});

  std::unique_ptr<Communicator> make_twin(Backends make, c10::Device device);

  Backends make_;
  std::string name_;
  c10::Device device_;
  std::chrono::milliseconds limit_;
  c10::intrusive_ptr<c10d::Backend> backend_;
  std::shared_ptr<Watch> watch_;
  std::deque<Work> under_way_;
  int64_t calls_ = 0;
  int duplicates_ = 0;
};

}  // namespace larmor
