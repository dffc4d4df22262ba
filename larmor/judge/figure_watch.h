// What a person who trains has to be told of a run's figures, each once a run.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "larmor/judge/validation.h"

namespace larmor {

/// An event of the run, by its kind: "warning", "note".
struct Telling {
  std::string kind, words;
};

/// What is to be told of a validation: figures that are no number, and why; parts that a mean is without;
/// from half of the run on (`share` of it is over) figures that are worse than a baseline. What has been told
/// is in `told`, by names that tell no numbers.
std::vector<Telling> tellings_of(const ValidationResult& result, double share, std::set<std::string>& told);

}  // namespace larmor
