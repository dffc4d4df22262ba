// A config of invented volumes, and the answer that a check of a stage gives.
#pragma once

#include <string>

#include "larmor/base/error.h"
#include "larmor/base/json.h"
#include "larmor/config/run_config.h"

namespace larmor::testing {

/// "2: what is wrong | what to do", or "fine".
template <class Work>
std::string answer_of(const Work& work) {
  try {
    work();
    return "fine";
  } catch (const Error& error) {
    return std::to_string(static_cast<int>(error.exit())) + ": " + error.message() + " | " + error.hint();
  }
}

/// Eight cases, four for training and four for validation, behind this chain of transforms.
inline RunConfig phantoms(const char* chain = R"([{"RandSpatialCrop": {"roi_size": 8}}])") {
  RunConfig config;
  config.data.kind = "phantom";
  config.data.phantom_cases = 8;
  config.data.phantom_size = {12, 12, 12};
  config.data.split.train = config.data.split.val = 0.5;
  config.data.split.test = 0.0;
  config.data.transforms = parse_json(chain, "chain");
  return config;
}

}  // namespace larmor::testing
