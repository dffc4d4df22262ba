// One case of `predict`: its inputs read and prepared as the stage says, and given to the task.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <c10/core/Device.h>

#include "larmor/plan/plan.h"
#include "larmor/task/input_channels.h"
#include "larmor/task/prediction.h"
#include "larmor/task/task.h"
#include "larmor/transforms/transforms.h"

namespace larmor {

/// What a person has given for one case.
struct PredictionCase {
  std::string name = {};                           // names its outputs: <name>.nii.gz
  std::string label = {};                          // for people: its file, where it is one
  std::map<std::string, std::string> inputs = {};  // by the input's name: a path, or a text
  /// Further files by input, whose channels follow those of the file above.
  std::map<std::string, std::vector<std::string>> further = {};
  std::string fault = {};      // why it cannot be predicted; empty: it may be
  int64_t number = 0;          // of the case in its call
  int64_t sample = 0;          // of the case; draws are keyed by both
  std::string sample_of = {};  // the case's own name; empty: it is predicted once
  bool operator==(const PredictionCase&) const = default;
};

struct PredictorOptions {
  uint64_t seed = 0;
  c10::Device device{c10::kCPU};          // where the task's networks are
  Precision precision = Precision::fp32;  // in which they were placed
  Layout layout = Layout::contiguous;
  bool resamples = false;  // data.grids=resample: inputs that are channels come onto the grid of the first
  std::function<void(double share)> progress = [](double) {};
};

/// One thread. Borrows the task, whose networks are in evaluation mode.
class Predictor {
 public:
  /// Throws Error (usage) as TransformChain.
  Predictor(Task& task, PredictionForm form, PredictorOptions options);

  /// The case's files, each with those that are its channels. Thread-safe. Throws Error naming the case.
  Volumes read(const PredictionCase& one) const;
  /// Prepares `files` and gives them to the task. A sample of a case always draws the same, by the two
  /// numbers, whoever computes it and however often. Throws Error naming the case.
  Prediction predict(
      const PredictionCase& one, const Volumes& files,
      const std::function<bool(double)>& fits_in_one_pass = [](double) { return true; }) const;
  const PredictionForm& form() const { return form_; }

 private:
  Task& task_;
  const PredictionForm form_;
  const PredictorOptions options_;
  const TransformChain chain_;
  const InputChannels channels_;
  const bool reads_grey_;
};

}  // namespace larmor
