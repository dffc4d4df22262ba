// What the parts of the loop share: what they borrow, how far training has come, and by which plan it goes.
#pragma once

#include "larmor/checkpoint/checkpoint.h"
#include "larmor/data/loader/loader.h"
#include "larmor/judge/stoppable_work.h"
#include "larmor/launch/fault_point.h"
#include "larmor/parallel/rank_sums.h"
#include "larmor/train/learner.h"
#include "larmor/train/step/bad_examples.h"
#include "larmor/train/time_left.h"
#include "larmor/train/trainer_state.h"

namespace larmor {

class Records;

/// Borrows: all of it has to outlive the loop.
struct TrainerParts {
  const RunConfig& config;
  const Plan& plan;
  const Timetable& timetable;
  Task& task;
  std::vector<Learner>& learners;
  /// Opens a loader by a plan, from so many examples on.
  std::function<std::unique_ptr<Loader>(const Plan& plan, int64_t consumed,
                                        const std::map<int64_t, BadFile>& known_bad)>
      open_loader;
  const Dataset& training_cases;
  const Dataset& validation_cases;
  const Dataset* reference_cases;  // Stage::reference(), may be null
  CheckpointWriter& checkpoints;
  Quarantine& quarantine;
  Tracker& tracker;
  Communicator& communicator;
  RankSums* rank_sums;  // of batch norm over all ranks; null where each rank counts its own rows
  StatusBoard& board;
  FaultPoint& faults;
  Clock& clock;
  TimeLeft time_left;
  c10::Device device;
  std::optional<int64_t> step_limit;  // --steps
  StopAsked stop_asked;               // of this rank
};

/// One thread.
struct Loop {
  /// `state` is a resumed run's, or empty.
  Loop(const TrainerParts& parts, const TrainerState& state);
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  int rank() const { return parts.communicator.rank(); }
  Moment moment() const { return parts.timetable.moment(state.progress); }
  /// What a task hears of the step to come, or of the weights as they are; `records` may be null.
  StepContext context(Records* records = nullptr) const;
  /// BadExamples::try_forward(): under ZeRO-3 ranks need each other for a forward.
  void try_forward(const Batch& batch, const std::function<void(const Batch&)>& forward) const {
    bad.try_forward(batch, /*can_divide=*/plan.strategy != Strategy::zero3, forward);
  }
  /// A new part of the step, for those who watch.
  void enter(Phase phase);
  /// An event of kind "warning", where there is something to say.
  void warn(std::string_view words, const Values& values = {});
  /// A step has been done. Collective where decisions depend on the clock.
  void advance();

  const TrainerParts parts;
  Plan plan;  // parts.plan, or the same batch in smaller micro-batches
  TrainerState state;
  BadExamples bad;
  double mark = 0;  // steady seconds up to which elapsed_seconds counts
};

}  // namespace larmor
