// A connection between two machines that a simulation plays: real sockets at both ends, and between them
// bytes that take their time, wait while the machines are cut off from each other, or are lost with one of
// them.
#pragma once

#include <deque>
#include <string>

#include "larmor/base/process/descriptor.h"

#include "tests/launch/support/agents.h"

namespace larmor {

class SimulatedWire {
 public:
  SimulatedWire();

  /// Each once: what the two sides hold.
  Descriptor take_leaders_end() { return std::move(leader_.outer); }
  Descriptor take_members_end() { return std::move(member_.outer); }

  /// Takes what was sent, and hands over what has arrived by now. What is sent now takes `latency` seconds.
  void carry(double now, double latency, bool is_cut);
  /// A machine has lost its power: nobody hangs up, and nothing is on its way any more.
  void go_dead() { is_dead_ = true; }
  /// The network gives the connection up: both sides see it end.
  void reset();

 private:
  /// One side's socket, and what is on its way to it.
  struct Side {
    Descriptor outer, inner;
    std::deque<std::pair<double, std::string>> coming;  // when it arrives; "" is the end
    bool has_ended = false;                             // this side sends no more
  };
  static void take(Side& from, Side& to, double arrival);
  static void deliver(Side& side, double now);

  Side leader_, member_;
  bool is_dead_ = false;
};

}  // namespace larmor
