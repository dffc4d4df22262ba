// A run on several machines, played in one thread and by a seed: machines, network, ranks, storage and time
// are the simulation's. It strikes as its seed says, starts the run again elsewhere as a scheduler does that
// no longer sees the leader, and keeps a list of the promises that were broken.
//
// What it does not play: how agents find one another (gathering_test.cpp), what a rank computes, a storage
// that fails (tests/checkpoint).
#pragma once

#include <filesystem>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/launch/support/simulated_job.h"

namespace larmor {

struct PlayedRun {
  std::vector<std::string> broken;  // promises, with their times
  std::vector<std::string> struck;  // what was done to it
  GroupEnding ending;               // of the newest job; meaningless where its leader died
  bool leader_lives = true;
  size_t jobs = 1;
  int64_t committed = -1;  // the newest step
  double seconds = 0;      // until nothing ran any more
};

class SimulatedCluster {
 public:
  /// A run of so many steps.
  static constexpr int64_t length = 100;

  /// `folder` takes the leaders' logs.
  SimulatedCluster(unsigned seed, const std::filesystem::path& folder, const PlantedMistakes& mistakes);
  PlayedRun play();

 private:
  /// Machines that reach one another and nobody else.
  struct Cut {
    std::set<int> machines;
    double until = 0;
  };

  void add_job();
  bool is_over() const;
  bool is_frozen(const SimulatedMachine& machine) const { return machine.frozen_until > now_; }
  bool is_cut(const SimulatedMachine& one, const SimulatedMachine& other) const;
  std::vector<SimulatedMachine*> all_machines() const;

  // What is struck, and when.
  void strike();
  void strike_rank();
  void strike_machine(SimulatedJob& job, SimulatedMachine& machine);
  /// As a scheduler that hears nothing of the leader any more, or wrongly thinks so.
  void requeue();
  void note(const std::string& what);

  // What ranks do by themselves.
  struct Seat {
    SimulatedMachine* machine = nullptr;
    SimulatedRank* rank = nullptr;  // null: it does not run
    int number = 0;
    void exit(int status) const { machine->host.exit(number, status); }
  };
  using Group = std::vector<Seat>;
  void step_ranks();
  bool can_meet(const Group& group) const;
  void meet(const Group& group);
  void train(const Group& group);
  void take_step(const Group& group);
  void wait_for_others(const Group& group);
  bool commit(int64_t generation, int64_t step);

  void look_for_broken_promises();
  void promise(bool kept, const std::string& what);
  int draw(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }
  double draw_seconds(double least, double most) { return least + (most - least) * draw(1000) / 1000; }

  std::mt19937 random_;
  PlantedMistakes mistakes_;
  std::filesystem::path folder_;
  double now_ = 1;
  std::vector<std::unique_ptr<SimulatedJob>> jobs_;
  std::vector<Cut> cuts_;
  std::vector<double> faults_;  // when something is to strike, ascending
  double slow_until_ = 0;       // the network
  double requeue_at_ = 0;       // 0: never
  SimulatedStorage storage_;
  PlayedRun result_;
};

}  // namespace larmor
