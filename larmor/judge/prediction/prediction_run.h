// The cases of a call of `predict` that this process computes, one after the other.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "larmor/base/error.h"
#include "larmor/base/files/storage.h"
#include "larmor/judge/case_loop.h"
#include "larmor/judge/prediction/prediction_output.h"
#include "larmor/judge/prediction/predictor.h"
#include "larmor/task/stage.h"

namespace larmor {

/// Cases of a call on this process, each read, predicted and written.
class PredictionRun final : public CaseWork {
 public:
  /// What they share; borrowed.
  struct Call {
    const Predictor& predictor;
    const PredictionFiles& files;
    const std::vector<PredictionCase>& cases;
    Storage& storage;
  };
  PredictionRun(const Call& call, const CaseLoopOptions& options) : call_(call), loop_(*this, options) {}

  /// Predicts and writes case `number` while the first of `upcoming`, which may come next, is read. An Error
  /// (data) is the case's failure, and so is memory that runs out; anything else is thrown.
  PredictedCase predict(int64_t number, std::span<const int64_t> upcoming);
  /// Each case in turn, after `before` has been told of it. What a case throws beside its own failure, such
  /// as the loss of the device, ends them: of several, that case and those after it have failed.
  std::vector<PredictedCase> predict_all(const std::function<void(const PredictionCase&)>& before);

  std::string name(int64_t number) const override { return at(number).label; }
  ReadCase read(int64_t number) const override;
  void compute(const ReadCase& read, const FitsInOnePass& fits) override;
  void leave_out(int64_t number, const Error& error) override;

 private:
  const PredictionCase& at(int64_t number) const { return call_.cases[static_cast<std::size_t>(number)]; }

  const Call call_;
  PredictedCase result_;  // of the case that the loop is at
  CaseLoop loop_;
};

/// The outcome of a case that a signal has cut.
PredictedCase stopped_at(const PredictionCase& one);
/// The outcome of a case for which no process was left, or that comes after a stop.
PredictedCase not_tried(const PredictionCase& one, Exit exit);
/// Throws Error where cases have failed: the one failure of a single case, otherwise how many and why.
void throw_failed_cases(const std::vector<PredictionCase>& cases, const std::vector<PredictedCase>& results);

/// Made for PredictionRun. The stage's demand is counted when it is first asked. Borrows the stage and its
/// config.
FitsInOnePass room_for_one_pass(const Stage& stage, const RunConfig& config, Precision precision,
                                uint64_t memory_bytes);

}  // namespace larmor
