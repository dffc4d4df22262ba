// All cases of a call of `predict`, one after the other on this process.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "larmor/base/error.h"
#include "larmor/base/files/storage.h"
#include "larmor/judge/prediction/prediction_output.h"
#include "larmor/judge/prediction/predictor.h"
#include "larmor/task/stage.h"

namespace larmor {

/// What every case of a call shares. Borrows all of it.
struct PredictionRun {
  const Predictor& predictor;
  const PredictionForm& form;
  const PredictionFiles& files;
  const std::vector<PredictionCase>& cases;
  Storage& storage;
};

/// Predicts and writes case `number`. An Error (data) is the case's failure, and so is memory that runs out;
/// anything else is thrown.
PredictedCase predict_case(const PredictionRun& run, std::size_t number);
/// Of a case that a signal has cut.
PredictedCase stopped_at(const PredictionCase& one);
/// Of a case for which no process was left, or that comes after a stop.
PredictedCase not_tried(const PredictionCase& one, Exit exit);
/// Each case in turn, after `before` has been told of it. What a case throws beside its own failure, such as
/// the loss of the device, ends them: of several, that case and those after it have failed.
std::vector<PredictedCase> predict_cases(const PredictionRun& run,
                                         const std::function<void(const PredictionCase&)>& before);
/// Throws Error where cases have failed: the one failure of a single case, otherwise how many and why.
void throw_failed_cases(const std::vector<PredictionCase>& cases, const std::vector<PredictedCase>& results);

/// For PredictorOptions::fits_in_one_pass. The stage's demand is counted when it is first asked. Borrows the
/// stage and its config.
std::function<bool(double)> room_for_one_pass(const Stage& stage, const RunConfig& config,
                                              Precision precision, uint64_t memory_bytes);

}  // namespace larmor
