#include "tests/launch/support/simulated_wire.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <utility>

namespace larmor {

SimulatedWire::SimulatedWire() {
  for (Side* const side : {&leader_, &member_}) {
    auto ends = connect_ends();
    side->outer = std::move(ends.here);
    side->inner = std::move(ends.there);
  }
}

void SimulatedWire::take(Side& from, Side& to, double arrival) {
  std::array<char, 65536> buffer;
  // Nothing overtakes on a connection.
  if (!to.coming.empty()) arrival = std::max(arrival, to.coming.back().first);
  while (!from.has_ended && from.inner.is_open()) {
    const ssize_t got = recv(from.inner.number(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got > 0) {
      to.coming.emplace_back(arrival, std::string(buffer.data(), static_cast<size_t>(got)));
    } else if (got == 0 || errno != EAGAIN) {
      from.has_ended = true;
      to.coming.emplace_back(arrival, "");
    } else {
      return;
    }
  }
}

void SimulatedWire::deliver(Side& side, double now) {
  while (!side.coming.empty() && side.coming.front().first <= now) {
    const auto bytes = std::move(side.coming.front().second);
    side.coming.pop_front();
    if (bytes.empty()) {
      side.inner.reset();
    } else if (side.inner.is_open()) {
      // A side that has hung up, or reads no more, takes nothing; what it misses is lost with it.
      static_cast<void>(send(side.inner.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
    }
  }
}

void SimulatedWire::carry(double now, double latency, bool is_cut) {
  if (is_dead_) return;
  take(leader_, member_, now + latency);
  take(member_, leader_, now + latency);
  if (is_cut) return;
  deliver(member_, now);
  deliver(leader_, now);
}

void SimulatedWire::reset() {
  is_dead_ = true;
  leader_.inner.reset();
  member_.inner.reset();
}

}  // namespace larmor
