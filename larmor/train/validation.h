// Metrics of a split, each case once, whatever the number of ranks.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <c10/core/Device.h>

#include "larmor/base/image.h"
#include "larmor/comm/communicator.h"
#include "larmor/plan/plan.h"
#include "larmor/train/task.h"

namespace larmor {

struct MetricResult {
  double mean = 0;
  std::vector<std::pair<int64_t, double>> per_case;  // by example
};

struct ValidationResult {
  std::map<std::string, MetricResult> metrics;
  std::vector<std::pair<std::string, Image>> pictures;  // rank 0's
  std::vector<BadFile> bad;                             // cases that no metric knows, of all ranks
};

struct ValidationOptions {
  c10::Device device{c10::kCPU};
  Precision precision = Precision::fp32;
  uint64_t seed = 0;
  bool pictures = false;
};

/// Runs the task over `dataset`: rank r takes cases r, r + ranks, …; values meet on every rank in case
/// order, so that all take the same decision from the same bits. Cases whose files cannot be used are left
/// out and listed. Networks are put into evaluation mode and back. Collective. Blocks. Throws Error (data) on
/// all ranks when no case is left.
ValidationResult validate(Task& task, const Dataset& dataset, Communicator& communicator,
                          const ValidationOptions& options);

}  // namespace larmor
