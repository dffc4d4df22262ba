#include "larmor/judge/prediction/prediction_run.h"

#include <exception>
#include <memory>
#include <optional>
#include <string>

#include "larmor/base/error.h"
#include "larmor/base/printable.h"
#include "larmor/base/text.h"
#include "larmor/device/memory/out_of_memory.h"
#include "larmor/judge/stoppable_work.h"

namespace larmor {

namespace {

/// A smaller case may fit: it finds the memory free that this one has taken.
PredictedCase without_memory(const PredictionRun& run, const PredictionCase& one,
                             const std::exception_ptr& failure) {
  release_cached_memory(run.predictor.device());
  return {.failure = text(one.label, ": memory ran out: ", describe_out_of_memory(failure)),
          .hint = "a GPU with more free memory, --device cpu, or a smaller volume",
          .exit = Exit::memory};
}

/// What ends the process's work altogether: a device that is lost, say. Its first line alone.
PredictedCase failed_for_all(const PredictionCase& one, const std::exception& error) {
  const auto* const own = dynamic_cast<const Error*>(&error);
  if (own != nullptr && own->exit() == Exit::stopped) return stopped_at(one);
  if (own != nullptr) return {.failure = own->message(), .hint = own->hint(), .exit = own->exit()};
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

PredictedCase predict_case(const PredictionRun& run, std::size_t number) {
  const auto& one = run.cases[number];
  try {
    const auto prediction = run.predictor.predict(one);
    return write_prediction(run.storage, run.files, run.form, one, prediction);
  } catch (const Error& error) {
    if (error.exit() != Exit::data) throw;
    return {.failure = error.message(), .hint = error.hint(), .exit = error.exit()};
  } catch (const std::exception&) {
    if (const auto failure = std::current_exception(); is_out_of_memory(failure))
      return without_memory(run, one, failure);
    throw;
  }
}

std::vector<PredictedCase> predict_cases(const PredictionRun& run,
                                         const std::function<void(const PredictionCase&)>& before) {
  std::vector<PredictedCase> results;
  for (const PredictionCase& one : run.cases) {
    try {
      throw_if_asked(asked_by_signal);
      before(one);
      results.push_back(predict_case(run, results.size()));
    } catch (const std::exception& error) {
      if (run.cases.size() == 1) throw;
      results.push_back(failed_for_all(one, error));
      break;
    }
  }
  while (results.size() < run.cases.size())
    results.push_back(not_tried(run.cases[results.size()], results.back().exit));
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

std::function<bool(double)> room_for_one_pass(const Stage& stage, const RunConfig& config,
                                              Precision precision, uint64_t memory_bytes) {
  const double width = precision == Precision::fp64 ? 2 : 1;  // of a number, beside the demand's
  const auto demand = std::make_shared<std::optional<Demand>>();
  return [&stage, &config, width, memory_bytes, demand](double examples) {
    if (!*demand) *demand = stage.demand(config, Index{});
    return fits_in_one_pass(**demand, width * examples, memory_bytes);
  };
}

}  // namespace larmor
