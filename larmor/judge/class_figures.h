// Figures that a case has for each of several classes: Dice of each organ, say.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "larmor/task/metrics.h"

namespace larmor {

/// Records the figures of one case: the value of each of `classes`, as a note "<name> <class>", and their
/// mean as the value `name`. A NaN is no value: the class is not there to be judged, and a case without any
/// has none.
void record_classes(Metrics& metrics, const std::string& name, int64_t example,
                    const std::vector<std::string>& classes, std::span<const double> values);

/// A figure for Task::summarize(): the mean over cases, at full depth with its interval over patients, and as
/// parts by class the mean over the cases that have the class. What no case has is NaN with the reason.
/// Collective.
SplitMetric mean_of_classes(Metrics& metrics, const CaseValues& cases, const std::string& name,
                            const std::vector<std::string>& classes);

}  // namespace larmor
