// Why training stops before its length is reached, and how long what has to come before that may take.
#pragma once

#include <algorithm>

#include "larmor/train/loop.h"
#include "larmor/train/saves.h"

namespace larmor {

/// One thread.
class Stops {
 public:
  /// Borrows both.
  Stops(const Loop& loop, const Saves& saves) : loop_(loop), saves_(saves) {}

  /// Whether this rank is asked to stop, or, on rank 0, the step that is about to begin has to be the last
  /// for want of time: what it says to the others.
  bool is_asked();
  /// All ranks know that one of them is.
  void note_stop() { is_stopped_ = true; }
  /// Whether some rank is asked to stop; note_stop() where one is. Collective.
  void ask_ranks();
  /// What asks a validation to stop: a signal of this rank, or rank 0's clock. Collective.
  StopAsked asks_validation();
  /// A validation has been stopped on all ranks.
  void note_stopped_validation();

  void note_step(double seconds) { longest_step_ = std::max(longest_step_, seconds); }
  void note_validation(double seconds) { longest_validation_ = std::max(longest_validation_, seconds); }

  /// Why no step may be begun, if so: the same on all ranks.
  std::optional<StopReason> reason() const;
  /// The text, on rank 0, of what more there is to say of a reason; may be empty.
  std::string words(StopReason reason) const;

 private:
  double seconds_to_save() const;
  /// What validations after this step or the next may take; 0 where none is due.
  double validation_to_come() const;

  const Loop& loop_;
  const Saves& saves_;
  bool is_stopped_ = false;
  bool time_is_up_ = false;                           // on rank 0
  double longest_step_ = 0, longest_validation_ = 0;  // seconds, of this start
};

}  // namespace larmor
