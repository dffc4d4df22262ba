#include "larmor/train/prediction_run.h"

#include <memory>
#include <optional>
#include <string>

#include "larmor/base/error.h"
#include "larmor/base/printable.h"
#include "larmor/base/text.h"

namespace larmor {

PredictedCase predict_case(const PredictionRun& run, std::size_t number) {
  const auto& one = run.cases[number];
  try {
    const auto prediction = run.predictor.predict(one);
    return write_prediction(run.storage, run.files, run.form, one, prediction);
  } catch (const Error& error) {
    if (error.exit() != Exit::data) throw;
    return {.failure = error.message(), .hint = error.hint(), .exit = error.exit()};
  }
}

std::vector<PredictedCase> predict_cases(const PredictionRun& run,
                                         const std::function<void(const PredictionCase&)>& before) {
  std::vector<PredictedCase> results;
  for (std::size_t number = 0; number < run.cases.size(); ++number) {
    before(run.cases[number]);
    results.push_back(predict_case(run, number));
  }
  return results;
}

void throw_failed_cases(const std::vector<PredictionCase>& cases, const std::vector<PredictedCase>& results) {
  const PredictedCase* first = nullptr;
  std::vector<std::string> reasons;
  for (const auto& result : results) {
    if (result.failure.empty()) continue;
    if (first == nullptr) first = &result;
    reasons.push_back(result.failure);
  }
  if (first == nullptr) return;
  if (cases.size() == 1) fail(first->exit, first->failure, first->hint);
  fail(first->exit,
       text("nothing came of ", reasons.size(), " of the ", cases.size(), " cases:", items(reasons)),
       first->hint);
}

std::function<bool(double)> room_for_one_pass(const Stage& stage, const RunConfig& config,
                                              uint64_t memory_bytes) {
  const auto demand = std::make_shared<std::optional<Demand>>();
  return [&stage, &config, memory_bytes, demand](double examples) {
    if (!*demand) *demand = stage.demand(config, Index{});
    return fits_in_one_pass(**demand, examples, memory_bytes);
  };
}

}  // namespace larmor
