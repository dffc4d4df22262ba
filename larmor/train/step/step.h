// One step of the loop: data, model, losses, backward and reduction, optimizer.
#pragma once

#include "larmor/task/pass.h"
#include "larmor/train/step/records.h"
#include "larmor/train/step/recovery.h"
#include "larmor/train/stops.h"

namespace larmor {

class PassGraphs;

/// What ranks have said along with a step's gradients, and what there is to show of it.
struct StepOutcome {
  Votes votes;                   // of all ranks
  std::vector<Reduced> reduced;  // one a learner
  bool finite = true;            // all gradients are
  Values values;                 // for the tracker
};

/// One thread.
class Step {
 public:
  /// Borrows all but the communicator that losses may need on the host. Collective.
  Step(Loop& loop, MicroBatches& batches, Recovery& recovery, const Saves& saves, Stops& stops);
  ~Step();
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;

  /// Does the next step, again where memory has run out or a task has refused examples; the loop's progress
  /// stays where it is. Throws Error (numerics) past the budget of non-finite steps, and whatever a rank's
  /// part fails with; on the other ranks Error (rank_lost). Collective. Blocks.
  StepOutcome run();

 private:
  /// Nothing where the step has to be done again: then nothing has changed.
  std::optional<StepOutcome> attempt();
  /// Gradients of all micro-batches, each by a pass of its own.
  void pass_each(Records& records, Votes& votes);
  /// The counts, before the passes, of a loss that is normalised over the step: reads and counts all
  /// micro-batches of the step. Nothing where another rank has failed in it.
  std::optional<at::Tensor> count_ahead();
  /// Forward over all micro-batches, what the ranks have to say of it, backward over all: a whole-batch loss.
  void pass_whole(WholeBatchLoss& loss, Records& records, Votes& votes);
  /// What this rank says to the others with its last gradients.
  void note(Votes& votes, const Records& records) const;
  /// This rank takes part in the rest of a step that another one has failed.
  void follow_failure();
  /// Its values lack what new names stand for.
  StepOutcome reduce(const Votes& own, const Records& records);
  void move_weights(StepOutcome& outcome);
  /// Tells of it, and counts it unless a smaller loss scale may be all that it lacks.
  void skip(StepOutcome& outcome);
  LossShare share_of_losses() const;
  /// The ranks' group for what a loss over the whole step has to know of them before it can be computed.
  Communicator& on_host() { return on_host_ ? *on_host_ : loop_.parts.communicator; }

  Loop& loop_;
  MicroBatches& batches_;
  Recovery& recovery_;
  const Saves& saves_;
  Stops& stops_;
  std::unique_ptr<PassGraphs> graphs_;     // null where the plan has none
  std::unique_ptr<Communicator> on_host_;  // null where the communicator is of hosts, or none is needed
  RecordNames record_names_;               // of all ranks
  std::vector<bool> active_;               // which learners learn in this step
};

}  // namespace larmor
