// The loop. It borrows everything and builds nothing: what varies is a Task, a Parallelism or a Tracker.
#pragma once

#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <c10/core/Device.h>

#include "larmor/base/clock.h"
#include "larmor/base/error.h"
#include "larmor/checkpoint/checkpoint.h"
#include "larmor/data/loader/loader.h"
#include "larmor/judge/batch_feed.h"
#include "larmor/judge/stoppable_work.h"
#include "larmor/judge/validation.h"
#include "larmor/launch/fault_point.h"
#include "larmor/parallel/rank_sums.h"
#include "larmor/plan/plan.h"
#include "larmor/run/quarantine.h"
#include "larmor/run/timetable.h"
#include "larmor/task/task.h"
#include "larmor/track/tracker.h"
#include "larmor/train/bad_examples.h"
#include "larmor/train/core_wait.h"
#include "larmor/train/data_wait.h"
#include "larmor/train/learner.h"
#include "larmor/train/records.h"
#include "larmor/train/saves.h"
#include "larmor/train/time_left.h"
#include "larmor/watch/status_board.h"

namespace larmor {

class PassGraphs;
struct LossShare;

/// What a validation that a stop has cut leaves to the next start, which does it before anything else.
struct DueValidation {
  bool pictures = false, checkpoint = false;  // that are due with it
};

/// What of the loop itself a checkpoint carries.
struct TrainerState {
  Progress progress;
  int64_t non_finite_steps = 0;
  std::optional<double> best_metric;
  int64_t best_step = 0;
  int64_t validations_without_gain = 0;
  std::map<std::string, Plateau> plateaus;  // of the objectives whose schedules go by validations
  int64_t micro_batch = 0;                  // smaller than the plan's, since memory ran out; 0: the plan's
  std::optional<DueValidation> due_validation;  // of the step that has been done
  std::set<std::string> told;                   // of what is said once a run (judge/figure_watch.h)
};
Json to_json(const TrainerState& state);
TrainerState trainer_state_from_json(const Json& json);

/// How a run of the loop ended.
struct TrainingEnd {
  enum class Reason { length_reached, stopped_early, step_limit, signal };
  Reason reason = Reason::length_reached;  // where time was up: signal
  std::string words;                       // on rank 0, what more there is to say of the reason; may be empty
  TrainerState state;
};

/// Borrows: all of it has to outlive the trainer.
struct TrainerParts {
  const RunConfig& config;
  const Plan& plan;
  const Timetable& timetable;
  Task& task;
  std::vector<Learner>& learners;
  /// By a plan, from so many examples on.
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

class Trainer {
 public:
  /// `state` is a resumed run's, or empty. Collective.
  Trainer(const TrainerParts& parts, const TrainerState& state);
  ~Trainer();

  /// Lets the task look around once, before a new run's first step. Collective.
  void prepare();
  /// Validates a case or a few, draws their pictures and gathers what a save writes, and keeps nothing: not
  /// one bit of what is trained depends on it. Throws Error (usage) where checkpoint.metric is a name that no
  /// such case gives, and what a validation throws. Collective.
  void try_out();

  /// Trains until the length is reached, a limit, or a signal, all of which are asked before a step is begun;
  /// the last step's checkpoint is saved when it returns. A stop cuts a validation, which the next start then
  /// begins with. Collective. Blocks. Throws Error (numerics) past the budget of non-finite steps.
  TrainingEnd run();

 private:
  /// Of the metrics of a validation of these; none where no case can be used.
  std::set<std::string> names_given(const Dataset& cases);

  struct StepOutcome {
    bool stop = false;        // some rank was asked to stop
    bool save_ended = false;  // on some rank
    Values values;            // for the tracker
  };

  /// The step's gradients and what ranks have said along with them.
  struct Reduction {
    Votes votes;
    std::vector<Reduced> reduced;  // one a learner
    bool finite = true;
    Values values;  // what the step has recorded, unless votes.new_names
  };

  StepOutcome step();
  /// Nothing where memory has run out on some rank: then nothing has changed.
  std::optional<StepOutcome> try_step();
  Reduction reduce(const std::vector<bool>& active, const Votes& own, const Records& records);
  /// From here on, on every rank alike; where there are graphs, they are given up instead. Throws Error
  /// (memory) where micro-batches cannot be smaller.
  void take_smaller_micro_batches();
  [[noreturn]] void refuse_smaller_micro_batches(const std::string& what) const;
  /// Ends this rank, which cannot take part in the rest of a failed step.
  [[noreturn]] void leave_alone(bool no_memory);
  /// Gradients of all micro-batches.
  void accumulate(const std::vector<bool>& active, Records& records, Votes& votes);
  Batch next_batch(Votes& votes);  // on the host
  /// Begins to copy the micro-batch after this one to the device: `next`, or, where that is null, what the
  /// loader has.
  void copy_ahead(const Batch* next = nullptr);
  /// After a failure: the others must not wait for this rank within their networks. Whether they notice.
  bool leave_sums();
  /// Forward over all micro-batches, what the ranks have to say of it, backward over all: a whole-batch loss.
  void accumulate_whole(WholeBatchLoss& loss, Records& records, Votes& votes);
  /// The same of a loss that is normalised over the step: all micro-batches are read and counted, then each
  /// is computed.
  void accumulate_counted(const std::vector<bool>& active, Records& records, Votes& votes);
  /// `batch` is on the host, and so is the next one, where it has been read.
  void forward_backward(Batch batch, const Batch* next, bool last, const std::vector<bool>& active,
                        const StepContext& now, const Records& records, Votes& votes);
  void move_weights(const std::vector<bool>& active, const std::vector<Reduced>& reduced, Values& values);
  /// Tells of it, and counts it unless a smaller loss scale may be all that it lacks. Throws Error (numerics)
  /// past the budget.
  void skip_step(const std::vector<bool>& active, const Reduction& reduction, Values& values);
  void settle_failure(const Votes& votes);
  /// BadExamples::try_forward().
  void try_forward(const Batch& batch, const std::function<void(const Batch&)>& forward);
  /// Brings the ranks' bad files together where some rank has new ones, or has failed. Whether the step can
  /// be done again without examples that the task has refused. Collective where `votes` say either.
  bool leave_out_bad_examples(const Votes& votes);
  /// Another one from where training is, in place of the one there is.
  void open_loader_again();

  /// Task::prepare()'s look at this rank's micro-batches of the step to come, by a loader of its own.
  /// Collective.
  void look_ahead(const std::function<void(const Batch&)>& use);
  /// All of them, on this rank, until the end of the list's life. Collective.
  std::vector<std::unique_ptr<WholeNetwork>> whole_networks();
  /// The networks have the weights that train.validate_with asks for, likewise. Collective.
  std::vector<std::unique_ptr<AveragedWeights>> averaged_weights();

  /// A validation and a checkpoint where they are due after the step that has been done. The metric, where
  /// there is one.
  std::optional<double> conclude_step(const Progress& before);
  std::optional<double> validate_and_save(const DueValidation& due);
  /// The metric that checkpoints are rated by; notes whether it is the best so far. Nothing where a stop has
  /// cut the validation.
  std::optional<double> validate_now(bool with_pictures);
  void rate(double metric);
  void tell_of_figures(const ValidationResult& result);
  void tell_of_step(const Values& values);
  Plateau plateau_of(const Learner& learner) const;
  std::optional<ValidationResult> validated(bool with_pictures);
  /// What asks a validation to stop: a signal of this rank, or the clock. Collective.
  StopAsked stop_of_validation();
  /// What has been trained is saved before a validation that has failed ends the run.
  void save_before_the_end(const std::exception_ptr& failure);
  void save(std::optional<double> metric, bool last);
  /// On rank 0, whether the step that is about to begin has to be the last for want of time; the other ranks
  /// hear of it by its vote.
  bool is_time_up();
  double seconds_to_save() const;
  /// Whether some rank has been asked to stop, or time is up. Collective.
  bool agrees_to_stop();
  /// What validations after this step or the next may take; 0 where none is due.
  double validation_to_come() const;
  void advance();
  /// A new part of the step, for those who watch.
  void enter(Phase phase);
  void warn_of_data_wait();
  void warn_of_core_wait();
  /// Why no step may be begun, if so.
  std::optional<TrainingEnd::Reason> reason_to_stop() const;

  StepContext context(Records* records) const;
  LossShare share_of_losses() const;
  Moment moment() const;
  int rank() const { return parts_.communicator.rank(); }
  /// The ranks' group for what a loss over the whole step has to know of them before it can be computed.
  Communicator& on_host() { return on_host_ ? *on_host_ : parts_.communicator; }

  TrainerParts parts_;
  Plan plan_;  // parts_.plan, or the same batch in smaller micro-batches
  TrainerState state_;
  std::unique_ptr<Loader> loader_;
  BatchFeed feed_;
  std::unique_ptr<PassGraphs> graphs_;  // null where the plan has none
  DataWait data_wait_;
  CoreWait core_wait_;
  BadExamples bad_;
  std::optional<CaseValues> reference_values_;  // once they are known, where they stay as they are
  RecordNames record_names_;                    // of all ranks
  std::unique_ptr<Communicator> on_host_;       // null where the communicator is of hosts, or none is needed
  bool agree_on_time_;
  double mark_ = 0;  // steady seconds up to which elapsed_seconds counts
  Saves saves_;
  bool is_stopped_ = false;                           // as all ranks know
  bool time_is_up_ = false;                           // on rank 0
  double longest_step_ = 0, longest_validation_ = 0;  // seconds, of this start
  std::exception_ptr failure_;                        // of this rank within the current step
};

}  // namespace larmor
