// How near a training step comes to what its device can do.
#pragma once

#include <string>

#include "larmor/base/json.h"
#include "larmor/measure/machine_peak.h"
#include "larmor/measure/operation_count.h"

namespace larmor {

/// The roofline of one step that took `seconds`.
struct Roofline {
  OperationCount count;
  MachinePeak peak;
  double seconds = 0;

  /// The floor of the arithmetic, if each kind ran as fast as its probe; of the memory, as fast as a copy.
  double arithmetic_floor() const;
  double memory_floor() const;
};

/// Giga-operations, gigabytes, and milliseconds.
Json to_json(const Roofline& roofline);
/// One line for people.
std::string describe(const Roofline& roofline);

}  // namespace larmor
