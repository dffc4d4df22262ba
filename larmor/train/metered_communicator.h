// A communicator that notes how long its caller is held up by collectives: what of the exchange a training
// step could not hide behind its arithmetic.
#pragma once

#include <memory>

#include "larmor/comm/communicator.h"

namespace larmor {

class MeteredCommunicator final : public Communicator {
 public:
  /// Borrows `inner`, which does the work.
  explicit MeteredCommunicator(Communicator& inner);
  ~MeteredCommunicator() override;

  /// Seconds since the last call within starts, waits and barriers, those of duplicates included. On CPU the
  /// caller's; on a GPU those in which its stream stood still. Blocks until the device's queue is empty.
  double take_seconds();

  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  c10::Device device() const override { return inner_.device(); }
  Pending all_reduce(at::Tensor tensor, Reduce operation) override;
  Pending reduce_scatter(const at::Tensor& full, at::Tensor shard, Reduce operation) override;
  Pending all_gather(const at::Tensor& shard, at::Tensor full) override;
  Pending broadcast(at::Tensor tensor, int root) override;
  void barrier() override;
  std::unique_ptr<Communicator> duplicate() override;
  void abort() override { inner_.abort(); }

 private:
  class Meter;
  class Lap;
  MeteredCommunicator(std::unique_ptr<Communicator> owned, std::shared_ptr<Meter> meter);
  template <class Start>
  Pending metered(const Start& start);

  std::unique_ptr<Communicator> owned_;  // of a duplicate
  Communicator& inner_;
  std::shared_ptr<Meter> meter_;  // a Pending may outlive us
};

}  // namespace larmor
