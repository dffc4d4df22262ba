#include "larmor/judge/prediction/prediction_run.h"

#include <exception>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/printable.h"
#include "larmor/base/text.h"
#include "larmor/judge/stoppable_work.h"

namespace larmor {

namespace {

PredictedCase failed_with(const Error& error) {
  return {.failure = error.message(), .hint = error.hint(), .exit = error.exit()};
}

/// What ends the process's work altogether: a device that is lost, say. Its first line alone.
PredictedCase failed_for_all(const PredictionCase& one, const std::exception& error) {
  const auto* const own = dynamic_cast<const Error*>(&error);
  if (own != nullptr && own->exit() == Exit::stopped) return stopped_at(one);
  if (own != nullptr) return failed_with(*own);
  const std::string words = error.what();
  return {.failure = text(one.label, ": ", words.substr(0, words.find('\n'))),
          .hint = "what was predicted before is there; predict the others again",
          .exit = Exit::unexpected};
}

}  // namespace

PredictedCase stopped_at(const PredictionCase& one) {
  return {.failure = text(one.label, ": ", asked_by_signal()),
          .hint = "what was predicted before is there; predict the others again",
          .exit = Exit::stopped};
}

PredictedCase not_tried(const PredictionCase& one, Exit exit) {
  if (exit == Exit::stopped) return stopped_at(one);
  return {.failure = text(one.label, ": not tried, as nothing was left to compute it on"),
          .hint = "predict it again",
          .exit = exit};
}

ReadCase PredictionRun::read(int64_t number) const {
  return {.number = number, .volumes = call_.predictor.read(at(number))};
}

void PredictionRun::compute(const ReadCase& read, const FitsInOnePass& fits) {
  const auto& one = at(read.number);
  result_ = write_prediction(call_.storage, call_.files, call_.predictor.form(), one,
                             call_.predictor.predict(one, read.volumes, fits));
}

void PredictionRun::leave_out(int64_t number, const Error& error) {
  result_ = failed_with(error.exit() == Exit::data ? error : error.within(at(number).label));
}

PredictedCase PredictionRun::predict(int64_t number, std::span<const int64_t> upcoming) {
  loop_.take(number, upcoming);
  return std::exchange(result_, {});
}

std::vector<PredictedCase> PredictionRun::predict_all(
    const std::function<void(const PredictionCase&)>& before) {
  const auto& cases = call_.cases;
  std::vector<int64_t> numbers(cases.size());
  std::iota(numbers.begin(), numbers.end(), 0);
  std::vector<PredictedCase> results;
  try {
    for (const int64_t number : numbers) {
      throw_if_asked(asked_by_signal);
      before(at(number));
      results.push_back(predict(number, std::span(numbers).subspan(results.size() + 1)));
    }
  } catch (const std::exception& error) {
    if (cases.size() == 1) throw;
    results.push_back(failed_for_all(cases[results.size()], error));
  }
  while (results.size() < cases.size())
    results.push_back(not_tried(cases[results.size()], results.back().exit));
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
  if (first->exit == Exit::stopped) {
    fail(Exit::stopped,
         text(first->failure, "; ", reasons.size(), " of the ", cases.size(), " cases are not predicted"),
         first->hint);
  }
  fail(first->exit,
       text("nothing came of ", reasons.size(), " of the ", cases.size(), " cases:", items(reasons)),
       first->hint);
}

FitsInOnePass room_for_one_pass(const Stage& stage, const RunConfig& config, Precision precision,
                                uint64_t memory_bytes) {
  const double width = precision == Precision::fp64 ? 2 : 1;  // of a number, beside the demand's
  const auto demand = std::make_shared<std::optional<Demand>>();
  return [&stage, &config, width, memory_bytes, demand](double examples) {
    if (!*demand) *demand = stage.demand(config, Index{});
    return fits_in_one_pass(**demand, width * examples, memory_bytes);
  };
}

}  // namespace larmor
