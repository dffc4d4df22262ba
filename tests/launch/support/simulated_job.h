// One start of a run on machines of a simulation: the leader with its supervisor, restart policy and ends of
// connections, and the members with their service. These are larmor's own; the loop from start to start is
// that of app/train/lead.cpp, without configurations and data.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "larmor/base/clock.h"
#include "larmor/launch/hosts/remote_host.h"
#include "larmor/launch/launcher_log.h"
#include "larmor/launch/member.h"
#include "larmor/launch/restart_policy.h"
#include "larmor/launch/supervisor.h"

#include "tests/launch/support/simulated_host.h"
#include "tests/launch/support/simulated_wire.h"

namespace larmor {

/// What keeps a promise is left out, so that a test sees that somebody looks.
struct PlantedMistakes {
  bool members_wait_for_ever = false;  // for a leader that is silent
  bool storage_has_no_fence = false;
  bool leaders_go_on_regardless = false;  // of a later start
};

/// The run folder that all machines see.
struct SimulatedStorage {
  int64_t fence = -1;
  int64_t committed = -1;             // the newest step
  int64_t committed_generation = -1;  // that saved it
};

/// Time is the simulation's; the wall clock of each machine may be set.
class MachineClock final : public Clock {
 public:
  explicit MachineClock(double& now) : now_(now) {}
  double wall_seconds() const override { return now_ + offset; }
  double steady_seconds() const override { return now_; }
  void sleep(double seconds) override { now_ += seconds; }
  double offset = 0;

 private:
  double& now_;
};

struct SimulatedMachine {
  SimulatedMachine(int number, double& now) : id(number), clock(now), host(text("node-", number), clock) {}
  int id;
  MachineClock clock;
  SimulatedHost host;
  bool has_agent = true;     // that lives
  double frozen_until = 0;   // nothing on it goes on
  std::string outcome = {};  // of a member's agent

  // Of a member; the last is the leader's.
  std::unique_ptr<SimulatedWire> wire = {};
  std::unique_ptr<Channel> leader = {};
  std::unique_ptr<Service> service = {};
  std::unique_ptr<RemoteHost> remote = {};
};

struct JobShape {
  int first_machine = 0;
  int machines = 1;
  int ranks_each = 1;
  RestartLimits limits;
  std::chrono::milliseconds silence, pause;
};

class SimulatedJob {
 public:
  /// Borrows time and storage. `folder` takes the leader's log.
  SimulatedJob(const JobShape& shape, const PlantedMistakes& mistakes, double& now, SimulatedStorage& storage,
               const std::filesystem::path& folder);

  /// What the leader does in a moment; `preparing`: how long the next start takes to prepare.
  void step_leader(double preparing);
  /// What a member does. Requires: its agent lives.
  void step_member(SimulatedMachine& machine);
  /// The agent, with its ranks. Its peers are told (`with_word`), or hear nothing any more.
  void end_agent(SimulatedMachine& machine, bool with_word);
  /// Whether leader and members have ended.
  bool is_over() const;
  bool leader_is_done() const { return state_ == State::over; }
  const GroupEnding& ending() const { return ending_; }
  int64_t generation() const { return generation_; }
  double group_began() const { return group_began_; }
  /// Of its first group; 0 before.
  double began() const { return began_; }

  /// The leader's first.
  std::vector<std::unique_ptr<SimulatedMachine>> machines;

 private:
  enum class State { prepares, watches, waits, over };

  void start_group();
  void take_ending();
  void end_run(const GroupEnding& ending);
  /// Whether a later start has taken the run over; the leader ends then.
  bool is_taken_over();

  PlantedMistakes mistakes_;
  double& now_;
  SimulatedStorage& storage_;
  LauncherLog log_;
  RestartPolicy policy_;
  CompleteStart complete_ = [](GroupStart&) {};
  Plan plan_;
  State state_ = State::prepares;
  double due_;  // when it starts or has waited
  std::unique_ptr<Supervisor> supervisor_;
  int64_t generation_ = -1;
  int64_t agents_before_ = 1;
  double began_ = 0, group_began_ = 0;
  GroupEnding ending_;
};

}  // namespace larmor
