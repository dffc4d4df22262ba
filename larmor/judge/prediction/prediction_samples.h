// What several samples of one case say together: the mean of each volume, and its standard deviation.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "larmor/base/files/storage.h"
#include "larmor/base/json.h"
#include "larmor/judge/prediction/prediction_output.h"
#include "larmor/task/prediction.h"

namespace larmor {

struct SampleSummary {
  PredictionCase one;  // under its own name
  int64_t samples = 0;
  /// The files by "mean" and "deviation"; where several volumes come out of a case by "mean-<name>" and
  /// "deviation-<name>".
  std::vector<std::pair<std::string, std::string>> files = {};
};
/// case, inputs, outputs, and how many samples there are.
Json to_json(const SampleSummary& summary);

/// Writes both volumes of every case that was sampled several times, from the samples' own files, one of
/// which is in memory at a time: whoever has computed them, the result is the same. A case of which a sample
/// has failed has none. Throws Error (data) where a file that was written cannot be read again.
std::vector<SampleSummary> summarize_samples(Storage& storage, const PredictionFiles& files,
                                             const PredictionForm& form,
                                             const std::vector<PredictionCase>& cases,
                                             const std::vector<PredictedCase>& results);

}  // namespace larmor
