// The loop: its steps, what is due between them, and its end. It borrows everything: what varies is a Task, a
// Parallelism or a Tracker. README.md names the files of its parts.
#pragma once

#include "larmor/train/core_wait.h"
#include "larmor/train/step/step.h"
#include "larmor/train/validations.h"

namespace larmor {

class Trainer {
 public:
  /// `state` is a resumed run's, or empty. Collective.
  Trainer(const TrainerParts& parts, const TrainerState& state);

  /// Lets the task look around once, before a new run's first step (preparation.h). Collective.
  void prepare();
  /// Tries what comes after the first interval (preparation.h). Collective.
  void try_out();

  /// Trains until the length is reached, a limit, or a signal, all of which are asked before a step is begun;
  /// the last step's checkpoint is saved when it returns. A stop cuts a validation, which the next start then
  /// begins with. Collective. Blocks. Throws what Step::run() does.
  TrainingEnd run();

 private:
  /// A validation and a checkpoint where they are due after the step that has been done. The metric, where
  /// there is one.
  std::optional<double> conclude_step(const Progress& before);
  void tell_of_step(const Values& values);
  void warn_of_core_wait();

  Loop loop_;
  MicroBatches batches_;
  CoreWait core_wait_;
  Saves saves_;
  Stops stops_{loop_, saves_};
  Recovery recovery_{loop_, batches_};
  Step step_{loop_, batches_, recovery_, saves_, stops_};
  Validations validations_{loop_, batches_.feed(), stops_, saves_};
};

}  // namespace larmor
