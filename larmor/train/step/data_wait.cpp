#include "larmor/train/step/data_wait.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "larmor/base/text.h"

namespace larmor {

namespace {

constexpr double bearable_share = 0.1;

/// What is the same in every epoch, and what a prepared cache therefore saves.
bool is_saved_by_preparing(LoadStage stage) {
  return stage != LoadStage::augment && stage != LoadStage::copy;
}

}  // namespace

void DataWait::add_step(double seconds, double waited, const LoadSeconds& stages) {
  seconds_ += seconds;
  waited_ += waited;
  for (size_t i = 0; i < stages.size(); ++i) stages_[i] += stages[i];
}

std::string DataWait::verdict() {
  const double seconds = std::exchange(seconds_, 0.0), waited = std::exchange(waited_, 0.0);
  const auto stages = std::exchange(stages_, {});
  if (seconds <= 0 || waited < bearable_share * seconds) return "";
  const auto longest = std::max_element(stages.begin(), stages.end());
  const auto stage = static_cast<LoadStage>(longest - stages.begin());
  // So many workers would bring batches as fast as the rest of a step uses them.
  const double work = std::accumulate(stages.begin(), stages.end(), 0.0);
  const double computing = std::max(seconds - waited, 1e-3);
  const int wanted = static_cast<int>(std::ceil(work / computing));
  std::vector<std::string> advice;
  if (wanted > setting_.workers && wanted <= setting_.workers + setting_.free_cores)
    advice.push_back(text("raise data.workers to ", wanted));
  if (!setting_.is_prepared && is_saved_by_preparing(stage))
    advice.push_back("run `larmor prepare` and set data.cache=full");
  if (advice.empty()) advice.push_back("the cores are busy; fewer or cheaper transforms would help");
  return text("waiting for data ", static_cast<int>(std::lround(100 * waited / seconds)),
              " %: ", to_text(stage), "; ", join(advice, ", or "));
}

}  // namespace larmor
