// Saves whose operations are recorded, and what is asked of each state that a crash during them may leave.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "tests/checkpoint/support/crash_model.h"
#include "tests/checkpoint/support/small_snapshot.h"
#include "tests/support/faults/memory_folder.h"

namespace larmor::testing {

/// What happened to the folder "run" of a disk; its checkpoints lie in "run/checkpoints".
struct Scenario {
  FileTree before = {};            // on the disk for certain
  int64_t announced = -1;          // the newest step among them
  std::set<int64_t> damaged = {};  // steps that are damaged before anything happens
  CheckpointOptions options = {};
  Recording recording = {};
  FileTree after = {};  // what the real folder held at the end
};

/// Two saves of one rank after three others, so that older ones are removed and `best` moves.
Scenario saves_of_one_rank();
/// The same of two ranks, each of which writes its shards.
Scenario saves_of_two_ranks();
/// Two saves of one rank where only the newest checkpoint is kept.
Scenario saves_keeping_one();
/// The first two saves of a run that makes its folder; one checkpoint is kept.
Scenario first_saves();
/// A save of a step whose folder is there and damaged, and the one after it.
Scenario saves_over_damage();
/// The save of a step that is there without a metric, since a stop had cut its validation, and the one after
/// it.
Scenario saves_over_an_unrated_one();
/// A save during which the process is killed in front of that operation; another process goes on from what it
/// finds, saves the same step, which may be there by now, and the next one. The record is empty when the save
/// has fewer operations.
Scenario save_after_kill(size_t operation);
/// A start on the state that a crash left, with one save.
Scenario save_after_crash(const CrashState& state, const Scenario& crashed);

/// What is wrong with a state.
enum class Loss {
  nothing,
  commit,    // what was announced does not load, nor does anything newer
  name,      // a checkpoint that was not damaged before lies damaged under its final name
  recovery,  // a start on that folder cannot save, or leaves rubbish
};

struct Verdict {
  Loss loss = Loss::nothing;
  std::string why = {};
};

/// Lays states down in a folder in memory, and does what a start does: reads the newest checkpoint that is
/// whole, makes the next save, and reads that. One thread.
class CrashJudge {
 public:
  explicit CrashJudge(const Scenario& scenario) : scenario_(scenario) {}
  Verdict judge(const CrashState& state);

 private:
  Verdict judge_found(const CrashState& state, int64_t& newest) const;
  Verdict judge_recovery(int64_t newest) const;
  std::filesystem::path checkpoints() const { return folder_.path() / "run" / "checkpoints"; }

  const Scenario& scenario_;
  MemoryFolder folder_;
};

/// What a search over a scenario found.
struct Findings {
  size_t states = 0;
  size_t lost = 0, names = 0, stuck = 0;
  std::vector<std::string> first = {};  // some words for the first few
};

/// Judges states until `enough` of them are not as they should be.
Findings search_states(const Scenario& scenario, const CrashSearch& search, size_t enough = 5);

}  // namespace larmor::testing
