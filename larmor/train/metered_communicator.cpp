#include "larmor/train/metered_communicator.h"

#include <utility>
#include <vector>

#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "larmor/base/clock.h"
#include "larmor/device/device.h"

namespace larmor {

/// One thread at a time, as the communicator.
class MeteredCommunicator::Meter {
 public:
  explicit Meter(c10::Device device) : device_(device) {}

  double take_seconds() {
    synchronize(device_);
    double seconds = std::exchange(host_seconds_, 0);
    for (const auto& [begin, end] : stream_laps_) seconds += begin.elapsedTime(end) * 1e-3;
    stream_laps_.clear();
    return seconds;
  }

 private:
  friend class MeteredCommunicator::Lap;
  c10::Device device_;
  SystemClock clock_;
  double host_seconds_ = 0;
  std::vector<std::pair<c10::Event, c10::Event>> stream_laps_;
};

/// From its begin to its end the caller is held up. A wait on a GPU does not block the host: there, the
/// stream says when it came to the wait and when it went on.
class MeteredCommunicator::Lap {
 public:
  explicit Lap(Meter& meter) : meter_(meter), began_(meter.clock_.steady_seconds()) {
    if (!meter_.device_.is_cpu()) begin_event_ = mark();
  }
  ~Lap() {
    if (meter_.device_.is_cpu()) {
      meter_.host_seconds_ += meter_.clock_.steady_seconds() - began_;
    } else {
      meter_.stream_laps_.emplace_back(std::move(begin_event_), mark());
    }
  }
  Lap(const Lap&) = delete;
  Lap& operator=(const Lap&) = delete;

 private:
  c10::Event mark() const {
    c10::Event event(meter_.device_.type(), c10::EventFlag::BACKEND_DEFAULT);
    event.record(c10::impl::VirtualGuardImpl(meter_.device_.type()).getStream(meter_.device_));
    return event;
  }

  Meter& meter_;
  double began_;
  c10::Event begin_event_{c10::kCPU};
};

MeteredCommunicator::MeteredCommunicator(Communicator& inner)
    : inner_(inner), meter_(std::make_shared<Meter>(inner.device())) {}

MeteredCommunicator::MeteredCommunicator(std::unique_ptr<Communicator> owned, std::shared_ptr<Meter> meter)
    : owned_(std::move(owned)), inner_(*owned_), meter_(std::move(meter)) {}

MeteredCommunicator::~MeteredCommunicator() = default;

double MeteredCommunicator::take_seconds() { return meter_->take_seconds(); }

template <class Start>
Pending MeteredCommunicator::metered(const Start& start) {
  const Lap starting(*meter_);
  return Pending([meter = meter_, pending = start()]() mutable {
    const Lap waiting(*meter);
    pending.wait();
  });
}

Pending MeteredCommunicator::all_reduce(at::Tensor tensor, Reduce operation) {
  return metered([&] { return inner_.all_reduce(tensor, operation); });
}

Pending MeteredCommunicator::reduce_scatter(const at::Tensor& full, at::Tensor shard, Reduce operation) {
  return metered([&] { return inner_.reduce_scatter(full, shard, operation); });
}

Pending MeteredCommunicator::all_gather(const at::Tensor& shard, at::Tensor full) {
  return metered([&] { return inner_.all_gather(shard, full); });
}

Pending MeteredCommunicator::broadcast(at::Tensor tensor, int root) {
  return metered([&] { return inner_.broadcast(tensor, root); });
}

void MeteredCommunicator::barrier() {
  const Lap waiting(*meter_);
  inner_.barrier();
}

std::unique_ptr<Communicator> MeteredCommunicator::duplicate() {
  return std::unique_ptr<Communicator>(new MeteredCommunicator(inner_.duplicate(), meter_));
}

}  // namespace larmor
