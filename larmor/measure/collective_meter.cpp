#include "larmor/measure/collective_meter.h"

#include <utility>
#include <vector>

#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "larmor/base/clock.h"
#include "larmor/device/device.h"

namespace larmor {

struct CollectiveMeter::Laps {
  explicit Laps(c10::Device where) : device(where) {}

  c10::Device device;
  SystemClock clock;
  double began = 0, host_seconds = 0;
  // A wait on a GPU does not block the host: there, the stream says when it came to the wait and when it
  // went on.
  std::vector<std::pair<c10::Event, c10::Event>> of_stream;

  c10::Event mark() const {
    c10::Event event(device.type(), c10::EventFlag::BACKEND_DEFAULT);
    event.record(c10::impl::VirtualGuardImpl(device.type()).getStream(device));
    return event;
  }
};

CollectiveMeter::CollectiveMeter(c10::Device device) : laps_(std::make_unique<Laps>(device)) {}
CollectiveMeter::~CollectiveMeter() = default;

double CollectiveMeter::take_seconds() {
  synchronize(laps_->device);
  double seconds = std::exchange(laps_->host_seconds, 0);
  for (const auto& [begin, end] : laps_->of_stream) seconds += begin.elapsedTime(end) * 1e-3;
  laps_->of_stream.clear();
  return seconds;
}

void CollectiveMeter::holds_up(const Ticket&) {
  if (laps_->device.is_cpu()) {
    laps_->began = laps_->clock.steady_seconds();
  } else {
    laps_->of_stream.emplace_back(laps_->mark(), c10::Event(laps_->device.type()));
  }
}

void CollectiveMeter::lets_go(const Ticket&) {
  if (laps_->device.is_cpu()) {
    laps_->host_seconds += laps_->clock.steady_seconds() - laps_->began;
  } else {
    laps_->of_stream.back().second = laps_->mark();
  }
}

}  // namespace larmor
