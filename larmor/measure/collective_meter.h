// How long collectives hold a rank up: what of the exchange a training step could not hide behind its
// arithmetic.
#pragma once

#include <memory>

#include <c10/core/Device.h>

#include "larmor/comm/watched.h"

namespace larmor {

/// One thread at a time, as the communicator that it observes.
class CollectiveMeter final : public CollectiveObserver {
 public:
  explicit CollectiveMeter(c10::Device device);
  ~CollectiveMeter() override;

  /// Seconds since the last call within starts, waits and barriers, those of duplicates included. On CPU the
  /// caller's; on a GPU those in which its stream stood still. Blocks until the device's queue is empty.
  double take_seconds();

  Ticket begins(const Collective&) override { return {}; }
  void holds_up(const Ticket&) override;
  void lets_go(const Ticket&) override;
  void ends(const Ticket&) override {}

 private:
  struct Laps;
  std::unique_ptr<Laps> laps_;
};

}  // namespace larmor
