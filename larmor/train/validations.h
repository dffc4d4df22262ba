// The validations of a run: what is validated with which weights, what is told of it, and whether it is the
// best so far.
#pragma once

#include "larmor/judge/batch_feed.h"
#include "larmor/judge/validation.h"
#include "larmor/train/stops.h"

namespace larmor {

/// Notes a validation's metric in the run's state: the best one so far, how many have been without gain, and
/// the schedules that go by it.
void rate(double metric, const RunConfig& config, const std::vector<Learner>& learners, TrainerState& state);

/// One thread.
class Validations {
 public:
  /// Borrows all.
  Validations(Loop& loop, BatchFeed& feed, Stops& stops, Saves& saves)
      : loop_(loop), feed_(feed), stops_(stops), saves_(saves) {}

  /// Validates after the step that has been done, and saves where that is due or the metric is the best so
  /// far. The metric that checkpoints are rated by; nothing where a stop has cut the validation, which is due
  /// again then. What has been trained is saved before a failure ends the run. Throws Error (usage) where
  /// checkpoint.metric is a name that the validation does not give. Collective.
  std::optional<double> validate_and_save(const DueValidation& due);
  /// The names of the metrics that these cases give, with their pictures, telling and keeping nothing; none
  /// where no case can be used. `reference` may be null. Collective.
  std::set<std::string> names_given(const Dataset& cases, const Dataset* reference);

 private:
  ValidationOptions options();
  std::optional<ValidationResult> validated(bool with_pictures);
  std::optional<double> metric_now(bool with_pictures);

  Loop& loop_;
  BatchFeed& feed_;
  Stops& stops_;
  Saves& saves_;
  std::optional<CaseValues> reference_values_;  // once they are known, where they stay as they are
};

}  // namespace larmor
