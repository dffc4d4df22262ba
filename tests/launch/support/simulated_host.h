// Ranks that a simulation plays, as an agent handles them: each is a few numbers, hears signals as a process
// does, and ends when the simulation or a signal says so.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "larmor/base/clock.h"
#include "larmor/launch/hosts/host.h"

namespace larmor {

struct SimulatedRank {
  int64_t generation = 0, step = 0;
  int world = 1;
  double began = 0, heard = 0;  // steady seconds; when it last gave a sign
  double blocked = 0;           // since when it waits for others; 0: it does not
  Phase phase = Phase::starting;
  bool is_asked_to_stop = false;
  double woke = 0;            // when it last went on after standing still
  bool stands_still = false;  // stopped by SIGSTOP, or by a fault that looks like it
  std::vector<int> pending;   // signals that it hears once it goes on
};

class SimulatedHost final : public Host {
 public:
  /// Borrows the clock of its machine.
  SimulatedHost(std::string name, const Clock& clock) : name_(std::move(name)), clock_(clock) {}

  const std::string& name() const override { return name_; }
  void start(const GroupStart& start) override;
  void send(int rank, int signal) override;
  std::vector<int> descriptors() const override { return {}; }
  std::vector<RankEnding> take_endings() override;
  int take_signal() override;
  std::map<int, RankStatus> statuses() override;
  std::string process_state(int rank) override;

  /// Ends the rank with a status, or by a signal.
  void exit(int rank, int status) { end(rank, {.status = status, .signal = 0}); }
  void die(int rank, int signal) { end(rank, {.status = 0, .signal = signal}); }
  /// Of the machine, as of a scheduler.
  void be_signalled(int signal) { signals_.push_back(signal); }
  /// All at once, and nobody hears of it: with their agent, or for want of power.
  void lose_all();

  std::map<int, SimulatedRank> ranks;
  /// Ranks that were to start while one of the same number ran: there never are any.
  int started_twice = 0;

 private:
  void end(int rank, const Ending& ending);

  std::string name_;
  const Clock& clock_;
  std::vector<RankEnding> endings_;
  std::deque<int> signals_;
};

}  // namespace larmor
